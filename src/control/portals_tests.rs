use super::*;
use crate::config::Endpoint;

fn portal(listen: &[&str], advertise: &[&str], group_tag: u16) -> Portal {
    let parse =
        |texts: &[&str]| texts.iter().map(|text| Endpoint::parse(text, Some(3260)).unwrap()).collect();
    Portal { listen: parse(listen), advertise: parse(advertise), group_tag, tls: None }
}

#[tokio::test]
async fn portals_of_one_tag_make_one_group() {
    let portals = [
        portal(&["127.0.0.1:0", "[::1]:3260"], &[], 9),
        portal(&["0.0.0.0"], &[], 2),
        portal(&["127.0.0.2", "127.0.0.1:0"], &["store.example:860", "[2001:db8::5]"], 9),
    ];
    let (resolved, failed) = resolve(&portals).await;
    assert!(failed.is_empty());
    let socket = |text: &str| text.parse::<SocketAddr>().unwrap();
    let bindings = to_bind(&resolved, |tag| tag);
    let tagged: Vec<_> = bindings.iter().map(|binding| (binding.address, binding.door.tag)).collect();
    assert_eq!(
        tagged,
        [
            (socket("127.0.0.1:0"), 9),
            (socket("[::1]:3260"), 9),
            (socket("0.0.0.0:3260"), 2),
            (socket("127.0.0.2:3260"), 9)
        ]
    );
    let bound = |wanted: SocketAddr| match wanted.port() {
        0 => Some(SocketAddr::new(wanted.ip(), 40000)),
        _ if wanted.is_ipv6() => None,
        _ => Some(wanted),
    };
    let told = |told| PortalAddress { told, tls: false };
    let fixed = |text: &str| told(Told::Fixed(text.into()));
    assert_eq!(
        groups(&resolved, |tag| tag, bound),
        [
            PortalGroup { tag: 2, addresses: vec![told(Told::Local(socket("0.0.0.0:3260")))] },
            PortalGroup {
                tag: 9,
                addresses: vec![
                    fixed("127.0.0.1:40000"),
                    fixed("store.example:860"),
                    fixed("[2001:db8::5]:3260")
                ]
            },
        ]
    );
}

#[test]
fn how_bound_addresses_are_told() {
    let table = [
        ("0.0.0.0:1", Told::Local("0.0.0.0:1".parse().unwrap())),
        ("[::]:1", Told::Local("[::]:1".parse().unwrap())),
        ("[fe80::1%2]:1", Told::Link("[fe80::1%2]:1".parse().unwrap())),
        ("[2001:db8::1]:1", Told::Fixed("[2001:db8::1]:1".into())),
        ("[::ffff:192.0.2.1]:1", Told::Fixed("192.0.2.1:1".into())),
        ("192.0.2.1:1", Told::Fixed("192.0.2.1:1".into())),
    ];
    for (bound, told) in table {
        assert_eq!(as_told(bound.parse().unwrap()), told, "{bound}");
    }
}
