use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Connects `client`, which expects `expected`, to `server`; gives what the server has seen of the client.
async fn meet(
    client: &Identity,
    expected: Fingerprint,
    server: &Identity,
) -> Result<Option<Fingerprint>, String> {
    let (one, other) = duplex(16 << 10);
    let connector = TlsConnector::from(client.connects_to(expected).unwrap());
    let acceptor = TlsAcceptor::from(server.accepts().unwrap());
    let connect = async {
        let mut stream = connector.connect(Identity::server_name().unwrap(), one).await?;
        stream.write_all(b"!").await?;
        stream.flush().await?;
        stream.read_u8().await
    };
    let accept = async {
        let mut stream = acceptor.accept(other).await?;
        stream.read_u8().await?;
        stream.write_all(b"!").await?;
        stream.flush().await?;
        std::io::Result::Ok(fingerprint_of(stream.get_ref().1.peer_certificates()))
    };
    let (connected, accepted) = tokio::join!(connect, accept);
    connected.map_err(|error| error.to_string())?;
    accepted.map_err(|error| error.to_string())
}

#[tokio::test]
async fn both_ends_know_each_other_by_their_fingerprints() {
    let (client, server) = (Identity::new().unwrap(), Identity::new().unwrap());
    assert_ne!(client.fingerprint(), server.fingerprint());
    assert_eq!(meet(&client, server.fingerprint(), &server).await, Ok(Some(client.fingerprint())));
}

#[tokio::test]
async fn another_than_the_expected_is_not_talked_to() {
    let (client, server) = (Identity::new().unwrap(), Identity::new().unwrap());
    assert!(meet(&client, client.fingerprint(), &server).await.is_err());
}

#[tokio::test]
async fn nobody_is_let_in_without_a_certificate() {
    let server = Identity::new().unwrap();
    let provider = Arc::new(ring::default_provider());
    let verifier = Only { expected: None, provider: Arc::clone(&provider) };
    let bare = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    let (one, other) = duplex(16 << 10);
    let connector = TlsConnector::from(Arc::new(bare));
    let acceptor = TlsAcceptor::from(server.accepts().unwrap());
    let connect = connector.connect(Identity::server_name().unwrap(), one);
    let (_, accepted) = tokio::join!(connect, acceptor.accept(other));
    assert!(accepted.is_err());
}

#[test]
fn fingerprints_are_read_as_they_are_written() {
    let fingerprint = Identity::new().unwrap().fingerprint();
    assert_eq!(Fingerprint::parse(&fingerprint.to_string()), Some(fingerprint));
    for wrong in ["", "00", &"g".repeat(64), &"é".repeat(32)] {
        assert_eq!(Fingerprint::parse(wrong), None);
    }
}
