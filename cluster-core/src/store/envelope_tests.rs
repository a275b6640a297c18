use super::*;
use proptest::prelude::*;
use serde_json::json;

fn name() -> DocumentName {
    DocumentName::new("owner").unwrap()
}

fn object(value: Value) -> Body {
    value.as_object().unwrap().clone()
}

fn sample() -> Envelope {
    Envelope {
        nonce: Nonce(77),
        body: object(json!({"owner": "n1", "of a newer glint": [1, {"deep": null}]})),
        extra: object(json!({"beside": "kept"})),
    }
}

#[test]
fn what_is_sealed_is_opened() {
    let file = Bytes::from(sample().seal(&name(), 3));
    assert_eq!(Envelope::open(&name(), 3, &file), Ok(sample()));
}

#[test]
fn a_newer_format_is_not_damage() {
    let file = String::from_utf8(sample().seal(&name(), 3)).unwrap().replacen(" 1 ", " 2 ", 1);
    assert_eq!(Envelope::open(&name(), 3, &file.into()), Err(Fault::TooNew(2)));
}

#[test]
fn another_document_is_refused() {
    let file = Bytes::from(sample().seal(&name(), 3));
    assert!(matches!(Envelope::open(&name(), 4, &file), Err(Fault::Damaged(_))));
    assert!(matches!(Envelope::open(&DocumentName::new("other").unwrap(), 3, &file), Err(Fault::Damaged(_))));
}

proptest! {
    #[test]
    fn any_changed_byte_is_found(at: prop::sample::Index, with in 1..=255u8) {
        let mut file = sample().seal(&name(), 3);
        let at = at.index(file.len());
        file[at] ^= with;
        // A changed format number may be taken for a newer one, which is left alone all the same.
        prop_assert!(Envelope::open(&name(), 3, &file.into()).is_err());
    }

    #[test]
    fn any_torn_file_is_found(keep: prop::sample::Index) {
        let mut file = sample().seal(&name(), 3);
        file.truncate(keep.index(file.len()));
        prop_assert!(Envelope::open(&name(), 3, &file.into()).is_err());
    }

    #[test]
    fn anything_is_opened_without_panic(file: Vec<u8>) {
        let _ = Envelope::open(&name(), 1, &file.into());
    }
}
