//! What `glint nodes` tells of a store. All that the harness knows of its form is here.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::paths;

/// Seconds that the store may take to answer.
const LIMIT: &str = "30";

/// What lies in a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// Nodes, with whether they are alive.
    pub nodes: Vec<(String, bool)>,
    /// The volumes that somebody has ever owned.
    pub volumes: Vec<Volume>,
}

/// A volume as the store has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// The node that owns it.
    pub owner: Option<String>,
    /// Goes up with each change of owner.
    pub epoch: u64,
}

impl Nodes {
    /// Asks `glint nodes`; what it says instead of an answer where it does not go.
    pub fn ask(store: &str) -> Result<Self, String> {
        let output = glint(&["nodes", "--store", store, "--json"])?;
        let read = serde_json::from_str(&output).ok().and_then(|value| Self::read(&value));
        read.ok_or_else(|| format!("glint nodes prints {output}"))
    }

    fn read(value: &Value) -> Option<Self> {
        let nodes = value.get("nodes")?.as_array()?.iter().map(|node| {
            let id = node.get("id")?.as_str()?.to_owned();
            Some((id, node.get("state")?.as_str()? == "alive"))
        });
        let volumes = value.get("volumes")?.as_array()?.iter().map(|volume| {
            Some(Volume {
                name: volume.get("name")?.as_str()?.to_owned(),
                owner: volume.get("owner").and_then(Value::as_str).map(str::to_owned),
                epoch: volume.get("epoch")?.as_u64()?,
            })
        });
        Some(Self { nodes: nodes.collect::<Option<_>>()?, volumes: volumes.collect::<Option<_>>()? })
    }

    /// What is told of a volume.
    pub fn volume(&self, name: &str) -> Option<&Volume> {
        self.volumes.iter().find(|volume| volume.name == name)
    }
}

/// Has the volume move with `glint move`.
pub fn relocate(store: &str, volume: &str, node: &str) -> Result<(), String> {
    glint(&["move", "--store", store, volume, node]).map(drop)
}

/// What it prints; and what it says where it fails, or takes too long.
fn glint(arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", LIMIT]).arg(paths::glint()).args(arguments);
    let told = |what: String| format!("glint {}: {what}", arguments.join(" "));
    let output = command.stdin(Stdio::null()).output().map_err(|error| told(error.to_string()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(told(format!("{}: {}", output.status, text(&output.stderr)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_prints_is_read() {
        let text = r#"{"nodes": [{"id": "n1", "state": "alive", "x": 1}, {"id": "n2", "state": "dead"}],
            "volumes": [{"name": "disk", "owner": "n1", "epoch": 7, "state": "owned"}, {"name": "b", "owner": null, "epoch": 1}]}"#;
        let nodes = Nodes::read(&text.parse().unwrap()).unwrap();
        assert_eq!(nodes.nodes, [("n1".to_owned(), true), ("n2".to_owned(), false)]);
        assert_eq!(
            nodes.volume("disk").map(|disk| (disk.owner.as_deref(), disk.epoch)),
            Some((Some("n1"), 7))
        );
        assert_eq!(nodes.volume("b").and_then(|volume| volume.owner.clone()), None);
        assert_eq!(Nodes::read(&"{}".parse().unwrap()), None);
    }
}
