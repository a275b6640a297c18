use super::*;

/// Exchanges that were captured between other parties: (secret, identifier, challenge, response), all MD5.
#[test]
fn captured_responses() {
    let table = [
        (
            "secret1234567",
            7,
            "0xc7b8994e2c47d1f995c0ce968877243736f18f472c2fcc88efe14e151f4ac6e749cc29f47f2d82ce5811f442bfcd92d735af",
            "0x8CD78E8AE60C5E8C155668A92723FAB5",
        ),
        (
            "secret1234567",
            1,
            "0x8f57f570f77550ae578b5fbf5bdbfcb702d78a5dc53c710a953a7752039dc9230230f2a3844bbc11aff4a94e26815bba4089",
            "0x9A3744A28FAD1C4BC8653A95C19993B0",
        ),
        (
            "tsecret7654321",
            1,
            "0x81F65918E9A2D73A0F30C1CDC36DCD2F994F5933765106429ED5A7DC86786007",
            "0xa4f1409fe8504ce4dbadfbcee200b0c8",
        ),
        (
            "secret1234567",
            6,
            "0x872f23925f6540501e08aa1b09c92795049b3d2ccb0969e5417bc214d8ed7af3f6cd1f5f7c39df5355fd0e709d2043178ced",
            "0x5ac1c2a95b79b1c5e28c63642edf77d7",
        ),
        ("tsecret7654321", 182, "0xf7fd51b85b39ef9d7b0f0c134505419b", "0xf80b4c6c5dc0e7f8e1cb4fbcc3910d47"),
        (
            "secret1234567",
            3,
            "0x69e5617485f88d9a980fffaa82860dd888ed79d601d671e84b7038b5aed8b86e5c340cbfb603d4f75279721ec7fc7fb26720",
            "0xee3fae5431b2433bf53e954eb6bffe66",
        ),
        ("tsecret7654321", 139, "0xfb3d7605eb4a888fd36859b173849565", "0xa91f7c7a6d2922c84b6f948f0e33fa69"),
    ];
    for (secret, identifier, challenge, response) in table {
        let challenge = value::binary(challenge, MAX_CHALLENGE).expect("hex");
        let computed = Algorithm::Md5.respond(identifier, &Secret::new(secret.into()), &challenge);
        assert_eq!(Some(computed), value::binary(response, MAX_HASH));
    }
}

#[test]
fn identifier_and_challenge_are_fresh_each_time() {
    // Counts on, so that two draws are never the same.
    fn counting(buffer: &mut [u8]) {
        use std::sync::atomic::{AtomicU8, Ordering};
        static NEXT: AtomicU8 = AtomicU8::new(1);
        buffer.fill_with(|| NEXT.fetch_add(1, Ordering::Relaxed));
    }
    let make = || {
        let text = AuthText { algorithms: Some("5".into()), ..AuthText::default() };
        Challenge::make(&text, counting, &mut Writer::default()).expect("MD5 is known")
    };
    let (first, second) = (make(), make());
    assert_ne!(first.identifier, second.identifier);
    assert_ne!(first.challenge, second.challenge);
}

#[test]
fn comparing() {
    assert!(equal(b"", b""));
    assert!(equal(b"abc", b"abc"));
    assert!(!equal(b"abc", b"abd"));
    assert!(!equal(b"abc", b"Abc"));
    assert!(!equal(b"abc", b"ab"));
}
