use super::*;

#[test]
fn a_record_is_read_as_it_was_written_and_the_rest_is_kept() {
    let owner = Incarnation { node: NodeId::new("n1").unwrap(), boot: BootId(u64::MAX) };
    let mut body = json!({"of a newer glint": 1}).as_object().unwrap().clone();
    for holder in [Holder::Owned(owner), Holder::Released(None), Holder::Released(NodeId::new("n2"))] {
        for fences in [true, false] {
            let record = OwnerRecord { holder: holder.clone(), pinned: true, failures: 3, fences };
            record.write(&mut body);
            assert_eq!(OwnerRecord::read(&body), Ok(record));
        }
    }
    assert_eq!(body.get("of a newer glint"), Some(&1.into()));
}

#[test]
fn an_old_record_was_of_one_that_fences() {
    let body = json!({"released": {"to": null}, "pinned": false, "failures": 0});
    assert_eq!(OwnerRecord::read(body.as_object().unwrap()), Ok(OwnerRecord::of(Holder::Released(None))));
}

#[test]
fn documents_are_named_after_volumes() {
    let document = OwnerRecord::document("db_1").unwrap();
    assert_eq!((document.as_str(), OwnerRecord::volume(&document)), ("owner-db_1", Some("db_1")));
    for other in ["owner-", "node-owner-a", "owner"] {
        assert_eq!(OwnerRecord::volume(&DocumentName::new(other).unwrap()), None, "{other}");
    }
    assert_eq!(OwnerRecord::document("a.b"), None);
}

#[test]
fn what_is_no_record_is_not_guessed_at() {
    for bad in [
        json!({}),
        json!({"owner": {"node": "n1", "boot": "7"}, "pinned": false, "failures": 0}),
        json!({"owner": {"node": "", "boot": "0000000000000007"}, "pinned": false, "failures": 0}),
        json!({"released": {}, "pinned": false, "failures": 0}),
        json!({"released": {"to": null}, "owner": {"node": "n1", "boot": "0000000000000007"}, "pinned": false, "failures": 0}),
        json!({"released": {"to": null}, "pinned": false}),
        json!({"released": {"to": null}, "pinned": false, "failures": 0, "fences": 1}),
    ] {
        assert!(OwnerRecord::read(bad.as_object().unwrap()).is_err(), "{bad}");
    }
}
