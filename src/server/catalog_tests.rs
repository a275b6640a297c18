use super::*;

const NAME: &str = "iqn.2026-12.io.glint:Demo";

/// A catalog with one target.
fn view(access: Access, groups: Vec<PortalGroup>, tag: u16, local: &str, peer: &str) -> PortalView<()> {
    let device = Arc::new(ServedDevice { server: (), volumes: ArcSwap::default() });
    let target = ServedTarget {
        name: NAME.into(),
        alias: Some("a demo".into()),
        access,
        whereabouts: Whereabouts::Here,
        auth: AuthPolicy::Open,
        device,
    };
    let snapshot = Snapshot::new(vec![Arc::new(target)], groups, AuthPolicy::Open);
    PortalView {
        snapshot: Arc::new(ArcSwap::from_pointee(snapshot)),
        tag,
        tls: false,
        local: local.parse().unwrap(),
        peer: peer.parse().unwrap(),
    }
}

fn open_view(groups: Vec<PortalGroup>, tag: u16, local: &str) -> PortalView<()> {
    view(Access::default(), groups, tag, local, "192.0.2.99")
}

fn plain(told: Told) -> PortalAddress {
    PortalAddress { told, tls: false }
}

fn fixed(address: &str) -> PortalAddress {
    plain(Told::Fixed(address.into()))
}

fn group(tag: u16, addresses: Vec<PortalAddress>) -> PortalGroup {
    PortalGroup { tag, addresses }
}

fn addresses(view: &PortalView<()>) -> Vec<(String, u16)> {
    view.targets().first().unwrap().addresses.clone()
}

#[test]
fn names_are_found_without_regard_to_case() {
    let view = open_view(vec![group(7, vec![])], 7, "127.0.0.1:3260");
    let entry = view.target("IQN.2026-12.io.glint:demo").unwrap();
    assert_eq!(&*entry.name, NAME);
    assert_eq!((entry.portal_group_tag, entry.relative_port), (7, 7));
    assert!(view.target("iqn.2026-12.io.glint:other").is_none());
}

#[test]
fn a_wildcard_portal_is_told_as_the_address_one_came_by() {
    let local = |address: &str| plain(Told::Local(address.parse().unwrap()));
    let groups = vec![
        group(1, vec![fixed("storage.example:3260")]),
        group(2, vec![local("[::]:3261"), local("0.0.0.0:3262")]),
    ];
    let by_v4 = open_view(groups.clone(), 2, "[::ffff:192.0.2.7]:3261");
    assert_eq!(
        addresses(&by_v4),
        [("storage.example:3260".into(), 1), ("192.0.2.7:3261".into(), 2), ("192.0.2.7:3262".into(), 2)]
    );
    let by_v6 = open_view(groups, 2, "[2001:db8::1]:3261");
    assert_eq!(addresses(&by_v6), [("storage.example:3260".into(), 1), ("[2001:db8::1]:3261".into(), 2)]);
}

#[test]
fn a_link_local_portal_is_told_to_those_on_the_link() {
    let link = plain(Told::Link("[fe80::1%2]:3260".parse().unwrap()));
    let groups = vec![group(1, vec![link, fixed("192.0.2.1:3260")])];
    let on_link = open_view(groups.clone(), 1, "[fe80::1%2]:3260");
    assert_eq!(addresses(&on_link), [("[fe80::1]:3260".into(), 1), ("192.0.2.1:3260".into(), 1)]);
    assert_eq!(addresses(&open_view(groups, 1, "192.0.2.1:3260")), [("192.0.2.1:3260".into(), 1)]);
}

#[test]
fn plain_and_tls_are_told_apart() {
    let tls = PortalAddress { told: Told::Fixed("127.0.0.1:3261".into()), tls: true };
    let mut view =
        open_view(vec![group(1, vec![fixed("192.0.2.1:3260")]), group(2, vec![tls])], 1, "192.0.2.1:3260");
    assert_eq!(addresses(&view), [("192.0.2.1:3260".into(), 1)]);
    view.tls = true;
    assert_eq!(addresses(&view), [("127.0.0.1:3261".into(), 2)]);
}

#[test]
fn a_target_is_told_with_the_portal_groups_that_serve_it() {
    let access = Access { groups: vec![2, 3], ..Access::default() };
    let groups: Vec<_> = [(1, "192.0.2.1:1"), (2, "192.0.2.1:2"), (3, "192.0.2.1:3")]
        .map(|(tag, address)| group(tag, vec![fixed(address)]))
        .into();
    for (tag, served) in [(1, false), (2, true), (3, true)] {
        let view = view(access.clone(), groups.clone(), tag, "192.0.2.1:1", "192.0.2.9");
        assert_eq!(view.target(NAME).unwrap().served_here, served, "{tag}");
        assert_eq!(addresses(&view), [("192.0.2.1:2".into(), 2), ("192.0.2.1:3".into(), 3)]);
    }
}

#[test]
fn networks_by_the_address_that_one_comes_from() {
    let networks =
        |list: &[&str]| list.iter().map(|network| network.parse().unwrap()).collect::<Vec<IpNet>>();
    let table: [(&[&str], &str, bool); 12] = [
        (&[], "192.0.2.1", true),
        (&["10.0.0.0/8"], "10.255.0.1", true),
        (&["10.0.0.0/8"], "11.0.0.1", false),
        // As a portal on [::] sees IPv4.
        (&["10.0.0.0/8"], "::ffff:10.1.2.3", true),
        (&["10.0.0.0/8"], "::ffff:11.1.2.3", false),
        (&["10.0.0.0/8", "fd00::/8"], "fd12::1", true),
        (&["10.0.0.0/8", "fd00::/8"], "fe80::1", false),
        (&["::/0"], "10.0.0.1", false),
        (&["::/0"], "::ffff:10.0.0.1", false),
        (&["0.0.0.0/0"], "10.0.0.1", true),
        (&["0.0.0.0/0"], "::1", false),
        (&["192.0.2.7/32"], "192.0.2.8", false),
    ];
    for (list, peer, let_in) in table {
        let access = Access { networks: networks(list), ..Access::default() };
        let view = view(access, Vec::new(), 1, "192.0.2.1:1", peer);
        assert_eq!(view.target(NAME).unwrap().lets_in_network, let_in, "{list:?} {peer}");
        assert_eq!(view.snapshot.load().target(NAME).unwrap().admits("iqn.x:y", view.peer, 1), let_in);
    }
}
