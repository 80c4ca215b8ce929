//! Accessibility of the page and the book: by keyboard alone, and by the findings of axe.

use std::collections::{BTreeMap, BTreeSet};

use convengine_test_macros::test;
use convengine_tests::demo;
use serde_json::json;

use crate::harness::TestEnv;
use crate::simulator::{hashes, members_of, run_page, run_script};
use crate::sources::{files, read};

#[test]
#[on(browser)]
fn the_first_minute_in_the_browser_works_by_keyboard() {
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["keyboard"]);
    assert_eq!(lines["first"][0]["state"], "WELCOME", "a message is answered");
    let core = hashes(&demo("loan.json").unwrap().pack, 5);
    assert_eq!(members_of(&lines["loan"][0], "hash"), core.iter().collect::<Vec<_>>(), "a command plays the loan");
    assert!(lines["afterCommand"][0].as_str().unwrap().contains("textbox \"Message\""), "{:?}", lines["afterCommand"]);

    let places: Vec<&str> = lines["places"][0].as_array().unwrap().iter().map(|place| place.as_str().unwrap()).collect();
    assert_eq!(places[0], "turn 5, at its end");
    assert!(places.iter().all(|it| it.starts_with("turn 5, ")), "by steps and not by turns: {places:?}");
    assert_eq!((places[3], places[4]), (places[1], places[0]), "] undoes [");
    assert_eq!(places.iter().collect::<BTreeSet<_>>().len(), 3, "{places:?}");

    assert_eq!(lines["areas"][0], json!(["inspector", "config", "chat", "timeline", "inspector"]));
    assert_eq!(lines["back"][0], json!(["timeline", "chat", "config", "inspector", "timeline"]));
    let editor = &lines["editor"][0];
    assert!(editor["hint"].as_str().unwrap().starts_with("Press Escape, then Tab to leave the editor."), "{editor}");
    assert_eq!(editor["left"], "- button \"Add extension\"");
    assert_eq!(editor["back"], "- textbox \"Pack as JSON text\"", "the editor is unchanged");
    assert_eq!(editor["area"], "chat", "F6 leaves the text as well");

    let branched = &lines["branched"][0];
    assert_eq!(members_of(branched, "hash")[..3], members_of(&lines["loan"][0], "hash")[..3]);
    assert_eq!(branched[3]["reply"], "All right, nothing has been handed in. What would you like to change?");
    assert!(lines["afterBranch"][0].as_str().unwrap().contains("textbox \"Message\""), "{:?}", lines["afterBranch"]);
    assert!(lines["why"][0].as_str().unwrap().contains("act = NEGATE"), "{:?}", lines["why"]);
    assert_eq!(lines["whyIn"][0], "inspector");
    let share = &lines["share"][0];
    assert_eq!(share["inside"], true);
    assert_eq!(share["after"], share["before"], "the focus returns");
    assert!(share["before"].as_str().unwrap().contains("button"), "{share}");
}

/// Runs a script that looks at screens with axe, and panics at its first finding; every screen is looked at in two sizes and two colors.
#[track_caller]
fn assert_axe_finds_nothing(script: &str, least_screens: usize) {
    let server = TestEnv::new().serve(&[]);
    let lines = run_script(script, &server.address, &[]);
    let mut looks: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for ((screen, look), violations) in lines["screen"].iter().zip(&lines["look"]).zip(&lines["violations"]) {
        assert_eq!(*violations, json!([]), "{screen}, {look}");
        looks.entry(look.as_str().unwrap()).or_default().insert(screen.as_str().unwrap());
    }
    assert_eq!(looks.keys().copied().collect::<Vec<_>>(), ["1440x900, dark", "1440x900, light", "360x780, dark", "360x780, light"]);
    assert!(looks.values().all(|screens| screens.len() >= least_screens), "{looks:?}");
}

#[test]
#[on(browser)]
fn the_screens_of_the_page_in_the_browser_pass_axe() {
    assert_axe_finds_nothing("axe.mjs", 10);
}

#[test]
#[on(browser)]
fn the_pages_of_the_book_in_the_browser_pass_axe() {
    assert_axe_finds_nothing("book-axe.mjs", 8);
}

/// Screen readers say the heading of a column before each of its cells.
#[test]
#[on(no_database)]
fn tables_of_the_book_name_their_columns() {
    let mut nameless = Vec::new();
    let mut count = 0;
    for path in files("docs", &[".md"]) {
        let text = read(&path);
        let lines: Vec<&str> = text.lines().collect();
        for (number, pair) in lines.windows(2).enumerate() {
            let is_head = pair[0].starts_with('|') && pair[1].starts_with("|-") && pair[1].chars().all(|it| matches!(it, '|' | '-' | ':'));
            count += usize::from(is_head);
            if is_head && pair[0].trim_matches('|').split('|').any(|cell| cell.trim().is_empty()) {
                nameless.push(format!("{}:{}", path.display(), number + 1));
            }
        }
    }
    assert!(nameless.is_empty(), "columns without a heading:\n{}", nameless.join("\n"));
    assert!(count > 300, "only {count} tables were found");
}
