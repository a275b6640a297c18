use super::*;
use crate::lun::reservations::actions::{Action, Register};
use proptest::prelude::*;

const WHOLE: &str = r#"{
  "version": 1,
  "aptpl": true,
  "registrations": [
    { "initiator": "iqn.2026-12.io.example:a", "isid": "800000000001", "target_port": 1, "key": "0x00000000000000a1" },
    { "initiator": "iqn.2026-12.io.example:b", "isid": "80000000abcd", "target_port": 2, "key": "0xffffffffffffffff" }
  ],
  "reservation": {
    "type": "write-exclusive",
    "holder": { "initiator": "iqn.2026-12.io.example:a", "isid": "800000000001", "target_port": 1 }
  },
  "remark": { "of": ["a", "later", "version"] }
}"#;

#[test]
fn a_document_is_read_and_what_is_unknown_is_kept() {
    let (state, notebook) = decode(WHOLE.as_bytes()).unwrap();
    let a = InitiatorPort::new("iqn.2026-12.io.example:a", [0x80, 0, 0, 0, 0, 1]);
    let holder = Registrant { target_port: 1, initiator: a };
    assert_eq!(state.registrations.get(&holder), Some(&0xa1));
    assert_eq!(state.registrations.len(), 2);
    assert_eq!(state.reservation, Some(Reservation { kind: Kind::WriteExclusive, holder: Some(holder) }));
    assert!(state.persists && !notebook.in_doubt);
    let again = encode(&state, &notebook.unknown);
    let value = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    assert_eq!(value(&again), value(WHOLE.as_bytes()));
    assert!(again.ends_with(b"}\n"));
}

#[test]
fn what_is_not_right_in_all_is_refused() {
    let of = |from: &str, to: &str| {
        assert!(WHOLE.contains(from), "{from}");
        WHOLE.replacen(from, to, 1)
    };
    for (document, told) in [
        (String::new(), "EOF"),
        ("[]".into(), "no JSON object"),
        (of("\"version\": 1", "\"version\": 2"), "version 2"),
        (of("\"version\": 1", "\"version\": \"1\""), "no version"),
        (of("true", "1"), "no `aptpl`"),
        (of("true", "false"), "not to be kept"),
        (of("\"registrations\": [", "\"registrations\": [7,"), "registration 0"),
        (of("\"registrations\"", "\"Registrations\""), "no list"),
        (of("0x00000000000000a1", "0x0"), "registration 0"),
        (of("0x00000000000000a1", "a1"), "registration 0"),
        (of("0x00000000000000a1", "0x1ffffffffffffffff"), "registration 0"),
        (of("800000000001", "80000000001"), "registration 0"),
        (of("\"target_port\": 2", "\"target_port\": 65536"), "registration 1"),
        (
            of(
                "example:b\", \"isid\": \"80000000abcd\", \"target_port\": 2",
                "example:A\", \"isid\": \"800000000001\", \"target_port\": 1",
            ),
            "twice",
        ),
        (of("write-exclusive", "write-shared"), "the reservation"),
        (of("write-exclusive", "write-exclusive-all-registrants"), "the reservation"),
        (of("\"holder\"", "\"owner\""), "the reservation"),
        (
            of(
                "\"holder\": { \"initiator\": \"iqn.2026-12.io.example:a\"",
                "\"holder\": { \"initiator\": \"x\"",
            ),
            "the reservation",
        ),
    ] {
        let fault = decode(document.as_bytes()).unwrap_err();
        assert!(fault.contains(told), "{fault:?} does not tell {told:?} of {document}");
    }
    let registration =
        |n: usize| format!(r#"{{"initiator":"i","isid":"{n:012x}","target_port":1,"key":"0x1"}}"#);
    let many = |count: usize| {
        let list: Vec<_> = (0..count).map(registration).collect();
        format!(r#"{{"version":1,"aptpl":true,"registrations":[{}]}}"#, list.join(","))
    };
    assert!(decode(many(MOST_REGISTRATIONS).as_bytes()).is_ok());
    assert!(decode(many(MOST_REGISTRATIONS + 1).as_bytes()).unwrap_err().contains("more than"));
}

proptest! {
    #[test]
    fn any_state_leads_back(
        keys in prop::collection::btree_map((0..4_u8, 1..3_u16), 1..=u64::MAX, 0..6),
        reserve in prop::option::of((any::<prop::sample::Index>(), 0..6_usize)),
    ) {
        let mut state = State::default();
        let mut registered = Vec::new();
        for ((isid, port), key) in keys {
            let initiator = InitiatorPort::new("iqn.2026-12.io.example:ä\"\\", [isid; 6]);
            let nexus = Registrant { target_port: port, initiator };
            let register = Register {
                key: None,
                new_key: key,
                persists: true,
                target_ports: vec![port],
                others: None,
            };
            state = state.after(&nexus, &Action::Register(register)).unwrap().0;
            registered.push((nexus, key));
        }
        if let Some((who, kind)) = reserve && !registered.is_empty() {
            let (nexus, key) = who.get(&registered);
            let action = Action::Reserve { key: *key, kind: Some(Kind::ALL[kind]) };
            state = state.after(nexus, &action).unwrap().0;
        }
        let lasting = state.after_power_loss();
        prop_assert_eq!(decode(&encode(&lasting, &Map::new())).unwrap().0, lasting);
    }

    #[test]
    fn any_bytes_are_read_without_harm(at in 0..WHOLE.len(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut bytes = WHOLE.as_bytes().to_vec();
        bytes[at] = byte;
        if cut {
            bytes.truncate(at);
        }
        if let Ok((state, notebook)) = decode(&bytes) {
            let again = decode(&encode(&state, &notebook.unknown)).unwrap();
            prop_assert_eq!(again.0, state);
        }
    }
}
