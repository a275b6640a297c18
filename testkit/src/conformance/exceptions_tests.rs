use super::*;
use crate::conformance::volumes::Backend;

const TEXT: &str = r#"
# A comment.
SCSI.Sanitize.*        | all          | all    | skips | there is no such thing here
"not removable"        | thin 4kn     | all    | skips | it is a disk
SCSI.Read10.Odd        | thin         | newest | wrong | SBC-4 5.13 says otherwise
SCSI.Write10.*         | file full    | all    | wrong | SBC-4 5.40 says otherwise
SCSI.Sanitize2.Reset   | 4kn          | all    | depends | it wants a slow disk
"#;

fn volume(kind: Kind) -> Volume {
    on(Backend::Ram, kind)
}

fn on(backend: Backend, kind: Kind) -> Volume {
    Volume { backend, kind, urls: [String::new(), String::new()] }
}

fn faults(kind: Kind, verdicts: &[(&str, Verdict)]) -> Vec<String> {
    faults_on(&volume(kind), verdicts)
}

fn faults_on(volume: &Volume, verdicts: &[(&str, Verdict)]) -> Vec<String> {
    let tool = Tool::debian();
    let mut report = Report::default();
    for (test, verdict) in verdicts {
        report.add(volume, &tool, (*test).to_owned(), verdict.clone());
    }
    Exceptions::parse(TEXT).judge(volume, &tool, true, &mut report);
    report.faults
}

fn skipped(reason: &str) -> Verdict {
    Verdict::Skipped(reason.to_owned())
}

#[test]
fn the_list_of_the_repository_has_its_form() {
    assert!(!Exceptions::read().0.is_empty());
}

#[test]
fn excuses_what_it_names_and_nothing_else() {
    let removable = ("SCSI.PreventAllow.Eject", skipped("Logical unit is not removable."));
    let sanitize = ("SCSI.Sanitize.Reset", skipped("SANITIZE is not implemented."));
    assert_eq!(faults(Kind::Thin, &[removable.clone(), sanitize.clone()]), Vec::<String>::new());
    assert_eq!(faults(Kind::Full, &[removable, sanitize]).len(), 1, "full volumes are not in the line");

    let faults = faults(
        Kind::Full,
        &[
            ("SCSI.Sanitize2.Simple", skipped("no")),
            ("SCSI.Read10.Simple", Verdict::Failed("it is broken".to_owned())),
            ("SCSI.Read10.Late", Verdict::Unfinished("no end".to_owned())),
            ("SCSI.Read10.Good", Verdict::Passed),
        ],
    );
    assert_eq!(faults.len(), 3, "{faults:?}");
}

#[test]
fn a_line_that_excuses_nothing_is_a_fault() {
    let passes = faults(Kind::Full, &[("SCSI.Sanitize.Reset", Verdict::Passed)]);
    assert_eq!(passes.len(), 1, "{passes:?}");
    // No test says what is quoted.
    assert_eq!(faults(Kind::Thin, &[]).len(), 1);
}

#[test]
fn a_line_may_be_for_some_backends() {
    let failed = [("SCSI.Write10.Simple", Verdict::Failed(String::new()))];
    assert_eq!(faults_on(&on(Backend::File, Kind::Full), &failed).len(), 0);
    assert_eq!(faults_on(&on(Backend::Ram, Kind::Full), &failed).len(), 1);
    assert_eq!(faults_on(&on(Backend::File, Kind::Removable), &failed).len(), 1);
}

#[test]
fn what_goes_by_the_clock_may_pass_or_fail_and_not_skip() {
    let removable = ("SCSI.PreventAllow.Eject", skipped("not removable"));
    let judge =
        |verdict| faults(Kind::Native4K, &[removable.clone(), ("SCSI.Sanitize2.Reset", verdict)]).len();
    assert_eq!((judge(Verdict::Passed), judge(Verdict::Failed(String::new()))), (0, 0));
    assert_eq!(judge(skipped("no")), 1);
}

#[test]
fn a_wrong_test_may_fail_and_must_not_pass() {
    let newest = Tool { name: "newest", path: "iscsi-test-cu".into() };
    let exceptions = Exceptions::parse(TEXT);
    assert!(exceptions.says_wrong("SCSI.Read10.Odd", &volume(Kind::Thin), &newest));
    assert!(!exceptions.says_wrong("SCSI.Read10.Odd", &volume(Kind::Thin), &Tool::debian()));
    let judge = |verdict: Verdict| {
        let volume = volume(Kind::Thin);
        let mut report = Report::default();
        report.add(&volume, &newest, "SCSI.Read10.Odd".to_owned(), verdict);
        report.add(&volume, &newest, "SCSI.PreventAllow.Eject".to_owned(), skipped("not removable"));
        exceptions.judge(&volume, &newest, true, &mut report);
        report.faults.len()
    };
    assert_eq!(judge(Verdict::Unfinished("no end".to_owned())), 0);
    assert_eq!(judge(Verdict::Failed("it is wrong".to_owned())), 0);
    assert_eq!(judge(Verdict::Passed), 1);
}

#[test]
#[should_panic(expected = "gives no reason")]
fn a_line_without_a_reason_is_refused() {
    Exceptions::parse("SCSI.Read10.Odd | all | all | wrong | ");
}
