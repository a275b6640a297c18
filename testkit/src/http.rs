//! Just enough HTTP to ask glint's API.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The status code and the body of the answer to `GET path`.
pub fn get(server: SocketAddr, path: &str) -> (u16, String) {
    let limit = Duration::from_secs(10);
    let mut stream = TcpStream::connect_timeout(&server, limit)
        .unwrap_or_else(|error| panic!("cannot connect to the API at {server}: {error}"));
    stream.set_read_timeout(Some(limit)).expect("a read time limit");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n")
        .expect("the request is sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap_or_else(|error| panic!("GET {path}: {error}"));
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) =
        answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("GET {path}: no HTTP answer: {answer:?}"));
    let status = head
        .split_whitespace()
        .nth(1)
        .and_then(|code| code.parse().ok())
        .unwrap_or_else(|| panic!("GET {path}: no status: {head:?}"));
    (status, body.to_owned())
}

/// The sum of all samples of metric `name` whose labels contain each of `labels` (as `volume="a"`); 0 where there is none.
pub fn metric(exposition: &str, name: &str, labels: &[&str]) -> f64 {
    exposition
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.rsplit_once(' '))
        .filter(|(series, _)| series.split('{').next() == Some(name))
        .filter(|(series, _)| labels.iter().all(|label| series.contains(label)))
        .map(|(series, value)| {
            value.parse::<f64>().unwrap_or_else(|_| panic!("{series} has the value {value:?}"))
        })
        .sum()
}
