//! Where a person wants a volume to be (document `wish-<volume>`, set by `glint move`): read, and acted upon, by the volume's owner, or by the node
//! that it names where nobody owns the volume.

use super::record::Epoch;
use crate::membership::{NodeId, RecordError};
use crate::store::{Body, DocumentName};
use serde_json::Value;

/// A wish. It is about the volume as it was found: with the next change of the owner record it is void, so it is fulfilled at most once and an old one
/// never moves anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The epoch that it is about.
    pub epoch: Epoch,
    /// The node that is to have the volume.
    pub to: NodeId,
}

impl Wish {
    /// The document with the wish about a volume; none where that is no name of a volume.
    pub fn document(volume: &str) -> Option<DocumentName> {
        DocumentName::new(format!("wish-{volume}"))
    }

    /// Where the volume is to go, as of this epoch; none where the wish is void.
    pub fn as_of(&self, epoch: Epoch) -> Option<&NodeId> {
        (self.epoch == epoch).then_some(&self.to)
    }

    /// Puts it into a body, of which it leaves all other members as they are.
    pub fn write(&self, body: &mut Body) {
        body.insert("epoch".into(), self.epoch.0.into());
        body.insert("to".into(), self.to.as_str().into());
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`RecordError`] where a member is missing or not as it should be.
    pub fn read(body: &Body) -> Result<Self, RecordError> {
        let epoch = body.get("epoch").and_then(Value::as_u64).map(Epoch);
        let to = body.get("to").and_then(Value::as_str).and_then(NodeId::new);
        Ok(Self { epoch: epoch.ok_or(RecordError("epoch"))?, to: to.ok_or(RecordError("to"))? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_wish_is_read_as_it_was_written_and_the_rest_is_kept() {
        let wish = Wish { epoch: Epoch(u64::MAX), to: NodeId::new("n2").unwrap() };
        let mut body = json!({"of a newer glint": 1, "epoch": 3}).as_object().unwrap().clone();
        wish.write(&mut body);
        assert_eq!(Wish::read(&body), Ok(wish));
        assert_eq!(body.get("of a newer glint"), Some(&1.into()));
    }

    #[test]
    fn it_is_about_one_epoch() {
        let wish = Wish { epoch: Epoch(7), to: NodeId::new("n2").unwrap() };
        assert_eq!(wish.as_of(Epoch(7)), Some(&wish.to));
        assert_eq!((wish.as_of(Epoch(6)), wish.as_of(Epoch(8))), (None, None));
    }

    #[test]
    fn what_is_no_wish_is_not_guessed_at() {
        for (bad, member) in [
            (json!({"to": "n1"}), "epoch"),
            (json!({"epoch": -1, "to": "n1"}), "epoch"),
            (json!({"epoch": 1}), "to"),
            (json!({"epoch": 1, "to": "N 1"}), "to"),
        ] {
            assert_eq!(Wish::read(bad.as_object().unwrap()), Err(RecordError(member)), "{bad}");
        }
    }

    #[test]
    fn documents_are_named_after_volumes() {
        assert_eq!(Wish::document("db_1").unwrap().as_str(), "wish-db_1");
        assert_eq!(Wish::document("a.b"), None);
    }
}
