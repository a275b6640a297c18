use super::*;

fn view(groups: Vec<PortalGroup>, tag: u16, local: &str) -> PortalView<()> {
    let device = Arc::new(ServedDevice { server: (), volumes: ArcSwap::default() });
    let target = ServedTarget {
        name: "iqn.2026-12.io.glint:Demo".into(),
        alias: Some("a demo".into()),
        initiators: InitiatorList::default(),
        auth: AuthPolicy::Open,
        device,
    };
    let snapshot = Snapshot::new(vec![Arc::new(target)], groups, AuthPolicy::Open);
    PortalView { snapshot: Arc::new(ArcSwap::from_pointee(snapshot)), tag, local: local.parse().unwrap() }
}

fn group(tag: u16, relative_port: u16, addresses: Vec<PortalAddress>) -> PortalGroup {
    PortalGroup { tag, relative_port, addresses }
}

fn addresses(view: &PortalView<()>) -> Vec<(String, u16)> {
    view.targets().first().unwrap().addresses.clone()
}

#[test]
fn names_are_found_without_regard_to_case() {
    let view = view(vec![group(7, 2, vec![])], 7, "127.0.0.1:3260");
    let entry = view.target("IQN.2026-12.io.glint:demo").unwrap();
    assert_eq!(&*entry.name, "iqn.2026-12.io.glint:Demo");
    assert_eq!((entry.portal_group_tag, entry.relative_port), (7, 2));
    assert!(view.target("iqn.2026-12.io.glint:other").is_none());
}

#[test]
fn a_wildcard_portal_is_told_as_the_address_one_came_by() {
    let wildcard = PortalAddress::Local("[::]:3261".parse().unwrap());
    let groups = vec![
        group(1, 1, vec![PortalAddress::Fixed("storage.example:3260".into())]),
        group(2, 2, vec![wildcard, PortalAddress::Local("0.0.0.0:3262".parse().unwrap())]),
    ];
    let by_v4 = view(groups.clone(), 2, "[::ffff:192.0.2.7]:3261");
    assert_eq!(
        addresses(&by_v4),
        [("storage.example:3260".into(), 1), ("192.0.2.7:3261".into(), 2), ("192.0.2.7:3262".into(), 2)]
    );
    let by_v6 = view(groups, 2, "[2001:db8::1]:3261");
    assert_eq!(addresses(&by_v6), [("storage.example:3260".into(), 1), ("[2001:db8::1]:3261".into(), 2)]);
}
