use super::*;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

fn end(name: &str, boot: u64) -> End {
    let me = Incarnation { node: NodeId::new(name).unwrap(), boot: BootId(boot) };
    let pace =
        Pace { time: Duration::from_millis(20), silence: Duration::from_millis(300), ..Pace::default() };
    End { me, identity: Identity::new().unwrap(), most_data: 4096, pace }
}

async fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// Connects `one` to `other`; `known` is what the store knows of `one`.
async fn meet(
    one: &End,
    other: &End,
    known: Option<Fingerprint>,
) -> (Result<Connection, LinkError>, Result<Connection, LinkError>) {
    let (listener, address) = listener().await;
    let accept = async {
        let (socket, _) = listener.accept().await.unwrap();
        let me = one.me.clone();
        other.accept(socket, |peer| async move { known.filter(|_| peer == me) }).await
    };
    let shown = other.identity.fingerprint();
    tokio::join!(one.connect(&address, &other.me, shown), accept)
}

/// Runs a connection; what arrives, but for the time, goes to the list.
fn start(
    connection: Connection,
    outbox: mpsc::UnboundedReceiver<Frame>,
) -> (JoinHandle<Result<(), LinkError>>, Seen) {
    let seen: Seen = Arc::default();
    let list = Arc::clone(&seen);
    let run = async move {
        let inbox = |frame: Frame| {
            if !matches!(frame.message, Message::Time(5)) {
                list.lock().unwrap().push(frame);
            }
        };
        connection.run(outbox, || 5, inbox).await
    };
    (tokio::spawn(run), seen)
}

type Seen = Arc<Mutex<Vec<Frame>>>;

#[tokio::test]
async fn messages_go_both_ways_for_as_long_as_both_are_there() {
    let (one, other) = (end("n1", 1), end("n2", 2));
    let (connected, accepted) = meet(&one, &other, Some(one.identity.fingerprint())).await;
    let (connected, accepted) = (connected.unwrap(), accepted.unwrap());
    assert_eq!((&connected.peer, &accepted.peer), (&other.me, &one.me));
    let ((to_other, out), (to_one, back)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
    let ((one_runs, one_saw), (other_runs, other_saw)) = (start(connected, out), start(accepted, back));
    let sent: Vec<_> = (0..50u8)
        .map(|number| Frame {
            message: Message::Look { volume: format!("v{number}") },
            data: vec![number; 4096].into(),
        })
        .collect();
    for frame in &sent {
        to_other.send(frame.clone()).unwrap();
        to_one.send(frame.clone()).unwrap();
    }
    // Longer than silence is borne.
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(*one_saw.lock().unwrap(), sent);
    assert_eq!(*other_saw.lock().unwrap(), sent);
    assert!(!one_runs.is_finished() && !other_runs.is_finished());
    drop(to_other);
    assert!(matches!(one_runs.await.unwrap(), Ok(())));
    assert!(matches!(other_runs.await.unwrap(), Err(LinkError::Frame(_))));
}

#[tokio::test]
async fn who_is_not_in_the_store_is_not_let_in() {
    let (one, other) = (end("n1", 1), end("n2", 2));
    let impostor = Identity::new().unwrap().fingerprint();
    for known in [None, Some(impostor)] {
        let (connected, accepted) = meet(&one, &other, known).await;
        assert!(matches!(accepted, Err(LinkError::Stranger(_))));
        assert!(connected.is_err());
    }
}

#[tokio::test]
async fn another_start_of_a_node_is_not_taken_for_it() {
    let (one, before) = (end("n1", 1), end("n2", 2));
    let now = End { identity: Identity::new().unwrap(), me: end("n2", 3).me, ..end("n2", 3) };
    let (listener, address) = listener().await;
    let known = one.identity.fingerprint();
    let accept = async {
        let (socket, _) = listener.accept().await.unwrap();
        now.accept(socket, |_| async move { Some(known) }).await
    };
    // It has the other's address and certificate, and yet looks for the one before.
    let connect = one.connect(&address, &before.me, now.identity.fingerprint());
    let (connected, accepted) = tokio::join!(connect, accept);
    assert!(matches!(connected, Err(LinkError::Stranger(_))));
    assert!(matches!(accepted, Err(LinkError::Stranger(_))));
}

#[tokio::test]
async fn silence_ends_a_connection() {
    let (one, other) = (end("n1", 1), end("n2", 2));
    let (connected, accepted) = meet(&one, &other, Some(one.identity.fingerprint())).await;
    let (_to_other, out) = mpsc::unbounded_channel();
    let (runs, _) = start(connected.unwrap(), out);
    // Its socket stays open.
    let _silent = accepted.unwrap();
    assert!(matches!(runs.await.unwrap(), Err(LinkError::Silent)));
}

#[tokio::test]
async fn one_that_never_answers_is_given_up() {
    let (listener, address) = listener().await;
    let mut one = end("n1", 1);
    one.pace.handshake = Duration::from_millis(100);
    let shown = one.identity.fingerprint();
    let connected = one.connect(&address, &end("n2", 2).me, shown).await;
    assert!(matches!(connected, Err(LinkError::Late)));
    drop(listener);
}

#[test]
fn the_older_version_is_spoken() {
    let hello =
        |least, newest| Hello { newest, least, node: "n1".into(), boot: 1, to_node: "n2".into(), to_boot: 2 };
    assert_eq!(spoken(&hello(1, PROTOCOL + 7)).unwrap(), PROTOCOL);
    assert!(matches!(spoken(&hello(PROTOCOL + 1, PROTOCOL + 7)), Err(LinkError::Version { .. })));
    assert!(spoken(&hello(0, 0)).is_err());
}
