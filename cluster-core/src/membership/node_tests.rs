use super::*;

fn record() -> NodeRecord {
    NodeRecord {
        boot: BootId(0xabc),
        portals: vec![Portal {
            tag: 2,
            bound: "[::]:3260".into(),
            advertised: vec!["glint-0.example:3260".into()],
        }],
        group: 3,
        internal: "10.0.0.7:9470".into(),
        version: "0.1.0".into(),
        certificate: "5f".repeat(32),
        left: false,
    }
}

#[test]
fn a_record_is_read_as_it_was_written_and_the_rest_is_kept() {
    let mut body = json!({"zone": "of a newer glint", "group": 1}).as_object().unwrap().clone();
    record().write(&mut body);
    assert_eq!(NodeRecord::read(&body), Ok(record()));
    assert_eq!(body.get("zone"), Some(&"of a newer glint".into()));
}

#[test]
fn what_is_missing_or_wrong_is_told() {
    let mut whole = Body::new();
    record().write(&mut whole);
    for name in ["boot", "portals", "group", "internal", "version", "left"] {
        for wrong in [None, Some(json!(70000)), Some(json!([1]))] {
            let mut body = whole.clone();
            body.remove(name);
            wrong.map(|wrong| body.insert(name.into(), wrong));
            assert_eq!(NodeRecord::read(&body), Err(RecordError(name)));
        }
    }
}

#[test]
fn an_old_record_has_no_certificate_and_a_wrong_one_is_none() {
    let mut body = Body::new();
    record().write(&mut body);
    body.remove("certificate");
    assert_eq!(NodeRecord::read(&body), Ok(NodeRecord { certificate: String::new(), ..record() }));
    body.insert("certificate".into(), 7.into());
    assert_eq!(NodeRecord::read(&body), Err(RecordError("certificate")));
}

#[test]
fn names_are_those_of_hosts() {
    assert!(NodeId::new("glint-0").is_some_and(|node| node.document().is_some()));
    for bad in ["", "N", "a.b", "a/b", &"x".repeat(64)] {
        assert_eq!(NodeId::new(bad), None);
    }
}
