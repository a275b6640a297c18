use super::super::message::{Hello, PROTOCOL, Verb};
use super::*;

fn frames() -> Vec<Frame> {
    let hello = Hello {
        newest: PROTOCOL,
        least: 1,
        node: "n1".into(),
        boot: u64::MAX,
        to_node: "n2".into(),
        to_boot: 2,
    };
    let manage =
        Message::Manage { number: 3, epoch: 4, nexus: 5, verb: Verb::QueryTask, lun: [0; 8], tag: 6 };
    let mut data = Payload::from(vec![1; 3000]);
    data.push(Bytes::from_static(b"end"));
    vec![
        Message::Hello(hello).into(),
        Message::Time(77).into(),
        Frame { message: Message::Look { volume: "v".into() }, data },
        manage.into(),
    ]
}

fn encoded(frames: &[Frame]) -> BytesMut {
    let mut out = BytesMut::new();
    frames.iter().for_each(|frame| Codec::new(4096).encode(frame.clone(), &mut out).unwrap());
    out
}

#[test]
fn messages_arrive_whole_however_they_are_cut() {
    let all = encoded(&frames());
    for step in [1, 7, 8, 9, 64, all.len()] {
        let (mut input, mut seen) = (BytesMut::new(), Vec::new());
        for piece in all.chunks(step) {
            input.extend_from_slice(piece);
            while let Some(frame) = Codec::new(4096).decode(&mut input).unwrap() {
                seen.push(frame);
            }
        }
        assert_eq!(seen, frames(), "in steps of {step}");
    }
}

#[test]
fn what_is_no_message_ends_the_connection() {
    let time = encoded(&[Message::Time(77).into()]);
    let decode = |change: &dyn Fn(&mut BytesMut)| {
        let mut input = time.clone();
        change(&mut input);
        Codec::new(4096).decode(&mut input)
    };
    assert!(decode(&|_| {}).unwrap().is_some());
    assert!(decode(&|input| input[8] = 200).is_err(), "no such variant");
    assert!(decode(&|input| input[1] = 1).is_err(), "the head is too long");
    assert!(decode(&|input| input[5] = 1).is_err(), "too much data");
    let longer = |input: &mut BytesMut| {
        input[3] += 1;
        input.extend_from_slice(&[0]);
    };
    assert!(decode(&longer).is_err(), "more in the head than there should be");
}

#[test]
fn what_is_too_long_is_not_sent() {
    let mut out = BytesMut::from(&b"before"[..]);
    let large = Frame { message: Message::Time(1), data: Payload::from(vec![0; 4097]) };
    assert!(Codec::new(4096).encode(large, &mut out).is_err());
    let head = Message::Look { volume: "v".repeat(MOST_HEAD) };
    assert!(Codec::new(4096).encode(head.into(), &mut out).is_err());
    assert_eq!(&out[..], b"before");
}
