use super::*;

#[test]
fn initiators_by_name_and_by_pattern() {
    let table: [(&[&str], &str, bool); 14] = [
        (&[], "iqn.x:anyone", true),
        (&["iqn.x:a"], "iqn.x:a", true),
        (&["iqn.x:a"], "IQN.X:A", true),
        (&["iqn.x:a"], "iqn.x:ab", false),
        (&["iqn.x:a"], "iqn.x:", false),
        (&["iqn.x:*"], "iqn.x:", true),
        (&["iqn.x:*"], "Iqn.X:whatever", true),
        (&["iqn.x:*"], "iqn.x", false),
        (&["iqn.x:*"], "iqn.y:z", false),
        (&["*"], "iqn.y:z", true),
        (&["iqn.a", "iqn.b*"], "iqn.bc", true),
        // Only at the end is a star a pattern.
        (&["iqn.*:a"], "iqn.x:a", false),
        // A prefix that ends within a character of the name.
        (&["iqn.x:é*"], "iqn.x:è", false),
        (&["iqn.x:a*"], "iqn.x:é", false),
    ];
    for (patterns, name, admitted) in table {
        let list = InitiatorList(patterns.iter().map(|pattern| (*pattern).into()).collect());
        assert_eq!(list.admits(name), admitted, "{patterns:?} {name}");
    }
}

#[test]
fn secrets_are_not_printed() {
    let policy = AuthPolicy::Chap {
        initiators: vec![ChapCredentials { name: "alice".into(), secret: Secret::new(b"hush".to_vec()) }],
        mutual: None,
    };
    let printed = format!("{policy:?}");
    assert!(printed.contains("alice") && printed.contains("Secret(..)"));
    assert!(!printed.contains("hush") && !printed.contains("104"));
}
