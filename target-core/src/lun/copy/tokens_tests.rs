use super::*;
use crate::testing::{RamDevice, config};

#[test]
fn tokens_tell_nothing_of_each_other() {
    let unit = LogicalUnit::new(config(512), RamDevice::new(1 << 20));
    let tokens: Vec<RodToken> =
        (0..64).map(|_| encode(&unit, rod_type::CHANGE_VULNERABLE, 512).unwrap()).collect();
    for (at, token) in tokens.iter().enumerate() {
        for other in &tokens[..at] {
            assert!(token.0[SECRET] != other.0[SECRET] && token.0[8..16] != other.0[8..16]);
            assert!(!token.is(&*other.0));
        }
        assert!(token.is(&*token.0) && !token.is(&token.0[..511]));
        assert!(!format!("{token:?}").contains("128"));
        assert_eq!(header(&*token.0), (rod_type::CHANGE_VULNERABLE, true));
    }
}
