use super::*;
use std::io::{Read, Write};
use std::net::TcpStream;

fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let mut socket = TcpStream::connect(address).unwrap();
    write!(socket, "GET {path} HTTP/1.1\r\nHost: glint\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[test]
fn the_node_tells_how_it_is() {
    let state = ApiState { metrics: Arc::new(Metrics::new().unwrap()), readiness: Arc::default() };
    let api = Api::start("127.0.0.1:0".parse().unwrap(), state.clone()).unwrap();
    assert_eq!(get(api.address(), "/livez"), (200, "ok\n".into()));
    let (status, body) = get(api.address(), "/readyz");
    assert_eq!(status, 503);
    assert_eq!(body, "a volume is not open\na portal is not bound\n");
    state.readiness.set_volumes_open(true);
    state.readiness.set_listening(true);
    assert_eq!(get(api.address(), "/readyz"), (200, "ok\n".into()));
    state.readiness.set_draining();
    assert_eq!(get(api.address(), "/readyz"), (503, "draining\n".into()));
    let (status, body) = get(api.address(), "/metrics");
    assert_eq!(status, 200);
    assert!(body.contains("# TYPE glint_sessions gauge\nglint_sessions 0\n"));
    assert_eq!(get(api.address(), "/nothing").0, 404);
}
