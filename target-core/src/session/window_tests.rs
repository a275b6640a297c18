use super::*;

#[test]
fn counts_around_the_end_of_the_circle() {
    let mut window = CommandWindow::new(Serial(u32::MAX - 1), 4);
    assert_eq!(window.max(), Serial(1));
    assert_eq!(window.arrive(Serial(2)), Arrival::Ignored);
    assert_eq!(window.arrive(Serial(u32::MAX - 2)), Arrival::Ignored);
    assert_eq!(window.arrive(Serial(1)), Arrival::Early);
    assert_eq!(window.arrive(Serial(u32::MAX)), Arrival::Early);
    assert_eq!(window.arrive(Serial(u32::MAX)), Arrival::Ignored);
    assert_eq!(window.next_early(), None);
    assert_eq!(window.arrive(Serial(u32::MAX - 1)), Arrival::Due);
    assert_eq!(window.next_early(), Some(Serial(u32::MAX)));
    assert_eq!(window.next_early(), None);
    assert_eq!(window.arrive(Serial(0)), Arrival::Due);
    assert_eq!(window.next_early(), Some(Serial(1)));
    assert_eq!((window.expected(), window.max()), (Serial(2), Serial(1)));
    assert_eq!(window.arrive(Serial(2)), Arrival::Ignored);
    window.finish();
    assert_eq!(window.arrive(Serial(2)), Arrival::Due);
}

#[test]
fn knows_of_gaps() {
    let mut window = CommandWindow::new(Serial(10), 4);
    assert!(!window.has_gap_before(Serial(10)));
    assert!(window.has_gap_before(Serial(11)));
    assert!(window.has_gap_before(Serial(14)));
    // Nonsense is no gap.
    assert!(!window.has_gap_before(Serial(15)));
    assert!(!window.has_gap_before(Serial(9)));
    assert_eq!(window.arrive(Serial(10)), Arrival::Due);
    assert!(!window.has_gap_before(Serial(11)));
}

#[test]
fn has_room_for_one_at_least_and_for_less_than_half_the_circle() {
    assert_eq!(CommandWindow::new(Serial(5), 0).max(), Serial(5));
    assert_eq!(CommandWindow::new(Serial(0), u32::MAX).max(), Serial(65535));
}

#[test]
fn numbers_before_it_is_known_which_hold_are_old_and_closed() {
    let window = CommandWindow::outdated(Serial(7));
    assert!(window.expected().is_before(Serial(7)) && window.max().is_before(window.expected()));
    assert!(!window.holds(Serial(7)) && !window.holds(window.expected()));
    // Older than what the largest window leaves open.
    let largest = CommandWindow::new(window.expected(), u32::MAX);
    assert!(!largest.holds(Serial(7)));
}

#[test]
fn what_can_not_come_any_more_is_passed_over() {
    let mut window = CommandWindow::new(Serial(u32::MAX), 4);
    assert_eq!(window.arrive(Serial(1)), Arrival::Early);
    window.skip_to(Serial(2));
    assert_eq!((window.expected(), window.max()), (Serial(2), Serial(5)));
    assert!(!window.has_early());
    // Nonsense moves nothing.
    window.skip_to(Serial(1));
    window.skip_to(Serial(9));
    assert_eq!((window.expected(), window.max()), (Serial(2), Serial(5)));
}

#[test]
fn what_was_forgotten_may_come_again() {
    let mut window = CommandWindow::new(Serial(10), 4);
    assert_eq!(window.arrive(Serial(11)), Arrival::Early);
    window.forget(11);
    assert!(!window.has_early());
    assert_eq!(window.arrive(Serial(10)), Arrival::Due);
    assert_eq!(window.next_early(), None);
    assert_eq!(window.arrive(Serial(11)), Arrival::Due);
}
