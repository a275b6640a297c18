use super::*;

/// The faults of a text, as `line: message`, after `read` has taken what it knows.
fn faults(text: &str, read: impl Fn(&mut Section<'_>)) -> Vec<String> {
    let document = Document::new(text, Path::new("x.toml"));
    let mut root = document.root();
    read(&mut root);
    root.finish();
    let findings = document.findings.into_inner();
    let line = |place: &Place| match place {
        Place::Line(line) => line.to_string(),
        other => format!("{other:?}"),
    };
    findings.faults.iter().map(|fault| format!("{}: {}", line(&fault.place), fault.message)).collect()
}

#[test]
fn unknown_keys_are_told_with_a_likely_one() {
    let found = faults("listen = 1\nlissten = 2\ncolour = 3\n", |root| {
        root.value::<u16>("listen");
        root.value::<u16>("other");
    });
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().any(|fault| fault.starts_with("2: ") && fault.contains("did you mean `listen`?")));
    assert!(
        found.iter().any(|fault| fault.starts_with("3: ") && fault.contains("known here: listen, other"))
    );
}

#[test]
fn all_faults_of_syntax_are_told_and_reading_goes_on() {
    let found = faults("a = \nb = 1\nc = 'x\n[section]\nd = 2\n", |root| {
        root.value::<u16>("a");
        root.value::<u16>("b");
        root.value::<String>("c");
        if let Some(mut section) = root.section("section") {
            section.value::<bool>("d");
            section.finish();
        }
    });
    for line in ["1: ", "3: ", "5: `d`: this is a number"] {
        assert!(found.iter().any(|fault| fault.starts_with(line)), "{line} in {found:?}");
    }
}

#[test]
fn kinds_and_bounds_are_checked() {
    let found = faults("a = 70000\nb = \"x\"\nc = 5\nd = [1, \"y\", 3]\ne = -1\nf = 0x10\n", |root| {
        assert_eq!(root.value::<u16>("a"), None);
        assert_eq!(root.value::<u16>("b"), None);
        assert_eq!(root.bounded::<u16>("c", 1, 1..=4), 1);
        assert_eq!(root.list::<u16>("d").iter().map(|number| number.value).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(root.value::<u32>("e"), None);
        assert_eq!(root.value::<u32>("f"), Some(16));
        assert!(root.value_or("g", true));
        assert!(root.required::<bool>("h", "true").is_none());
    });
    let starts =
        ["1: `a`: 70000 is out of range", "2: `b`: this is a string", "3: `c` has to be between 1 and 4"];
    for start in starts.into_iter().chain(["4: `d`: this is a string", "5: `e`: -1 is out of range"]) {
        assert!(found.iter().any(|fault| fault.starts_with(start)), "{start} in {found:#?}");
    }
    assert!(found.iter().any(|fault| fault.contains("lacks `h`; add for example: h = true")));
    assert_eq!(found.len(), 6);
}

#[test]
fn sections_are_told_from_values_and_lists() {
    let found = faults("a = 1\n[b]\nx = 1\n[[c]]\n[[c]]\n", |root| {
        assert!(root.section("a").is_none());
        assert!(root.sections("b").is_empty());
        let places: Vec<_> = root.sections("c").iter().map(Section::place).collect();
        assert_eq!(places, [Place::Line(4), Place::Line(5)]);
    });
    assert!(found[0].starts_with("1: `a` is a section, not a number: write [a]"), "{found:?}");
    assert!(found[1].starts_with("2: `b` is a list: write [[b]]"), "{found:?}");
}
