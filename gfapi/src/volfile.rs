//! Reading the description of a volume (the "volfile"): which translators the client runs.

/// A translator in the client's graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Translator {
    /// Its name, such as `demo-write-behind`.
    pub name: String,
    /// What it is, such as `performance/write-behind`.
    pub kind: String,
    /// What its description sets: keys and values.
    options: Vec<(String, String)>,
}

impl Translator {
    /// The value that the volume's description gives to the option.
    #[must_use]
    pub fn option(&self, key: &str) -> Option<&str> {
        self.options.iter().find(|(own, _)| own == key).map(|(_, value)| value.as_str())
    }
}

/// The translators of a volfile, bricks first. The format: `volume NAME`, `type KIND`, options, `end-volume`.
pub(crate) fn translators(volfile: &str) -> Vec<Translator> {
    let mut found: Vec<Translator> = Vec::new();
    let mut name = None;
    for line in volfile.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("volume"), Some(word)) => name = Some(word),
            (Some("type"), Some(kind)) => {
                if let Some(name) = name.take() {
                    let (name, kind) = (name.to_owned(), kind.to_owned());
                    found.push(Translator { name, kind, options: Vec::new() });
                }
            }
            (Some("option"), Some(key)) if name.is_none() => {
                if let Some(last) = found.last_mut() {
                    let value = words.collect::<Vec<_>>().join(" ");
                    last.options.push((key.to_owned(), value));
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether `name` matches `pattern`, in which `*` stands for any run of characters.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => name.strip_prefix(head).is_some_and(|name| {
            name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| {
                let (_, tail) = name.split_at(at);
                matches(rest, tail)
            })
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translators_are_read_with_name_and_kind() {
        let volfile = "volume v-client-0\n    type protocol/client\n    option remote-host type\nend-volume\n\n\
                       volume v-shard\n    type features/shard\n    subvolumes v-client-0\nend-volume\n";
        let found = translators(volfile);
        let pairs: Vec<_> = found.iter().map(|t| (t.name.as_str(), t.kind.as_str())).collect();
        assert_eq!(pairs, [("v-client-0", "protocol/client"), ("v-shard", "features/shard")]);
        assert_eq!(found[0].option("remote-host"), Some("type"));
        assert_eq!(found[1].option("remote-host"), None);
    }

    #[test]
    fn nonsense_has_no_translators() {
        assert_eq!(translators("type x\nvolume\n\u{0}"), []);
    }

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, expected) in [
            ("*-write-behind", "v-write-behind", true),
            ("*-write-behind", "v-write-behind-2", false),
            ("v-client-*", "v-client-0", true),
            ("*-client-*", "a-client-client-0", true),
            ("v", "v", true),
            ("v", "vv", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
