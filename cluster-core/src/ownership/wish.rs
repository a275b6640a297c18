//! A person's wish for a volume (document `wish-<volume>`), which its owner heeds.

use super::record::Epoch;
use crate::membership::{NodeId, RecordError};
use crate::store::{Body, DocumentName};
use serde_json::Value;

/// The volume is wanted at a node, as of an epoch of its owner record. In any other epoch it is void: whoever moved the volume since did not know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The epoch that it was made in.
    pub epoch: Epoch,
    /// The node that is to have the volume.
    pub to: NodeId,
}

impl Wish {
    /// The document of a volume; none where the volume's name is too long or none at all.
    pub fn document(volume: &str) -> Option<DocumentName> {
        DocumentName::new(format!("wish-{volume}"))
    }

    /// Puts it into a body, of which it leaves all other members as they are.
    pub fn write(&self, body: &mut Body) {
        body.insert("epoch".into(), self.epoch.0.into());
        body.insert("to".into(), self.to.as_str().into());
    }

    /// Reads it.
    ///
    /// # Errors
    /// When a member is missing, or not as it should be.
    pub fn read(body: &Body) -> Result<Self, RecordError> {
        let epoch = body.get("epoch").and_then(Value::as_u64).ok_or(RecordError("epoch"))?;
        let to = body.get("to").and_then(Value::as_str).and_then(NodeId::new).ok_or(RecordError("to"))?;
        Ok(Self { epoch: Epoch(epoch), to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_wish_is_read_as_it_was_written_and_nothing_is_guessed() {
        let wish = Wish { epoch: Epoch(u64::MAX), to: NodeId::new("n2").unwrap() };
        let mut body = json!({"of a newer glint": 1}).as_object().unwrap().clone();
        wish.write(&mut body);
        assert_eq!(Wish::read(&body), Ok(wish));
        assert_eq!(body.get("of a newer glint"), Some(&1.into()));
        for (name, wrong) in [("epoch", json!(-1)), ("epoch", json!("3")), ("to", json!("N 2"))] {
            let mut body = body.clone();
            body.insert(name.into(), wrong);
            assert_eq!(Wish::read(&body), Err(RecordError(name)));
        }
        assert_eq!(Wish::read(&Body::new()), Err(RecordError("epoch")));
    }

    #[test]
    fn its_document_is_the_volumes() {
        assert_eq!(Wish::document("db_1").unwrap().as_str(), "wish-db_1");
        assert_eq!(Wish::document("a.b"), None);
    }
}
