use super::*;
use serde_json::json;

fn node(name: &str) -> NodeId {
    NodeId::new(name).unwrap()
}

fn body(value: Value) -> Body {
    value.as_object().unwrap().clone()
}

#[test]
fn numbers_are_unique_and_stay() {
    let (one, document) = assign(&Body::new(), &node("a"), &[1, 2]).unwrap();
    assert_eq!(one, Numbers { group: 1, ports: [(1, 1), (2, 2)].into() });
    let (two, document) = assign(&document.unwrap(), &node("b"), &[1]).unwrap();
    assert_eq!(two, Numbers { group: 2, ports: [(1, 3)].into() });
    let document = document.unwrap();
    assert_eq!(assign(&document, &node("a"), &[2]).unwrap(), (one, None));
    // A portal group that comes later does not change what there is.
    let (one, document) = assign(&document, &node("a"), &[3]).unwrap();
    assert_eq!(one, Numbers { group: 1, ports: [(1, 1), (2, 2), (3, 4)].into() });
    assert_eq!(assign(&document.unwrap(), &node("b"), &[1]).unwrap(), (two, None));
}

#[test]
fn members_that_are_not_known_are_kept() {
    let document = body(json!({"nodes": {"a": {"group": 7, "ports": {}, "x": 1}}, "y": 2}));
    let (numbers, document) = assign(&document, &node("a"), &[1]).unwrap();
    assert_eq!(numbers.group, 7);
    assert_eq!(
        Value::Object(document.unwrap()),
        json!({"nodes": {"a": {"group": 7, "ports": {"1": 1}, "x": 1}}, "y": 2})
    );
}

#[test]
fn nonsense_is_refused() {
    for bad in [
        json!({"nodes": 1}),
        json!({"nodes": {"a": {}}}),
        json!({"nodes": {"b": {"group": 0}}}),
        json!({"nodes": {"b": {"group": 1, "ports": {"x": 1}}}}),
    ] {
        assert_eq!(assign(&body(bad), &node("c"), &[]), Err(NumbersError::Malformed));
    }
    let full = body(json!({"nodes": {"a": {"group": 65535, "ports": {"1": 65535}}}}));
    assert_eq!(assign(&full, &node("b"), &[1]), Err(NumbersError::Exhausted));
    assert_eq!(assign(&full, &node("a"), &[2]), Err(NumbersError::Exhausted));
    assert!(assign(&full, &node("a"), &[1]).is_ok());
}
