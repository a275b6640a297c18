use super::*;

fn parse(text: &str) -> Result<String, String> {
    Endpoint::parse(text, None).map(|endpoint| endpoint.to_string())
}

#[test]
fn hosts_have_three_forms() {
    for text in
        ["127.0.0.1:3260", "[::1]:3260", "[2001:db8::1]:80", "storage.example.net:3260", "a:0", "node_1:1"]
    {
        assert_eq!(parse(text), Ok(text.to_owned()));
    }
    assert_eq!(parse("Storage.Example.NET:1"), Ok("storage.example.net:1".into()));
    assert_eq!(Endpoint::parse("::", None).unwrap_err().matches("bracket").count(), 1);
}

#[tokio::test]
async fn a_zone_is_an_interface_or_its_number() {
    for text in ["[fe80::1%lo]:3260", "[fe80::1%1]:3260"] {
        let endpoint = Endpoint::parse(text, None).unwrap();
        assert_eq!(endpoint.to_string(), text);
        // Loopback is the first interface of every network namespace.
        assert_eq!(endpoint.resolve().await.unwrap(), ["[fe80::1%1]:3260".parse().unwrap()]);
        assert!(endpoint.why_not_told().unwrap().contains("zone"));
        assert_eq!(endpoint.why_not_bound(), None);
    }
    let gone = Endpoint::parse("[fe80::1%gone0]:3260", None).unwrap();
    assert!(gone.resolve().await.unwrap_err().to_string().contains("gone0"));
    let everywhere = Endpoint::parse("[fe80::1]:3260", None).unwrap();
    assert!(everywhere.why_not_bound().unwrap().contains("[fe80::1%eth0]:3260"));
}

#[test]
fn what_is_no_address_is_told() {
    for text in [
        "",
        ":3260",
        "a",
        "a:",
        "a:x",
        "a:65536",
        "a:+1",
        "1.2.3:1",
        "1.2.3.4.5:1",
        "999.1.1.1:1",
        "::1:3260",
        "[::1",
        "[::1]3260",
        "[1.2.3.4]:1",
        "[x]:1",
        "[fe80::1%]:1",
        "[fe80::1%a/b]:1",
        "[fe80::1%averylonginterface]:1",
        "[127.0.0.1%lo]:1",
        "a b:1",
        "-a:1",
        "a..b:1",
        "a/b:1",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_default_port_may_be_left_out() {
    let parse = |text| Endpoint::parse(text, Some(3260)).unwrap().to_string();
    assert_eq!(parse("0.0.0.0"), "0.0.0.0:3260");
    assert_eq!(parse("[::]"), "[::]:3260");
    assert_eq!(parse("a.b:1"), "a.b:1");
}

#[test]
fn loopback_and_wildcard_are_known() {
    let parse = |text| Endpoint::parse(text, Some(1)).unwrap();
    assert!(
        parse("127.3.2.1").is_loopback() && parse("[::1]").is_loopback() && parse("localhost").is_loopback()
    );
    assert!(!parse("0.0.0.0").is_loopback() && !parse("a.b").is_loopback());
    assert!(parse("0.0.0.0").is_unspecified() && parse("[::]").is_unspecified());
}

#[tokio::test]
async fn names_are_looked_up_when_used() {
    let found = Endpoint::parse("localhost:5", None).unwrap().resolve().await.unwrap();
    assert!(
        !found.is_empty() && found.iter().all(|address| address.ip().is_loopback() && address.port() == 5)
    );
}
