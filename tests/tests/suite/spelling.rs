//! Spelling: the dictionary of British English that cspell brings, or our own list of terms, has every word of the Markdown files.
//! Code is not read.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use convengine_test_macros::test;
use convengine_tests::root;

/// The terms that no dictionary has, one a line.
const TERMS: &str = "tests/spelling/terms.txt";

/// Runs cspell with further arguments and a standard input; returns whether all words are known, and what it printed.
fn check_spelling(arguments: &[&str], input: &str) -> (bool, String) {
    let mut command = Command::new("node");
    command.current_dir(root()).args(["web-demo/node_modules/cspell/bin.mjs", "lint", "--config", "tests/spelling/cspell.json"]);
    command.args(["--no-progress", "--no-color"]).args(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("cannot start node");
    // Closed at once, because some calls do not read it.
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let printed = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), printed)
}

#[test]
#[on(no_database)]
#[ignore = "needs the packages of the page; `cargo xtask test` installs them"]
fn words_are_in_a_dictionary_or_are_terms() {
    let (is_right, printed) = check_spelling(&[], "");
    assert!(is_right, "correct the words, or add terms to {TERMS}:\n{printed}");
    let files = printed.split_once("Files checked: ").and_then(|it| it.1.split_once(','));
    assert!(files.is_some_and(|it| it.0.parse::<usize>().is_ok_and(|count| count > 150)), "{printed}");
}

#[test]
#[on(no_database)]
#[ignore = "needs the packages of the page; `cargo xtask test` installs them"]
fn an_unknown_word_and_an_american_one_are_found() {
    let (is_right, printed) = check_spelling(&["stdin"], "A recieved messege was canceled, and its behavior is `unkown`.\n");
    assert!(!is_right, "{printed}");
    for (word, is_found) in [("recieved", true), ("messege", true), ("canceled", true), ("behavior", true), ("unkown", false)] {
        assert_eq!(printed.contains(&format!("({word})")), is_found, "{word}: {printed}");
    }
}

#[test]
#[on(no_database)]
fn terms_are_sorted() {
    let text = fs::read_to_string(root().join(TERMS)).unwrap();
    let terms: Vec<String> = text.lines().map(str::to_lowercase).collect();
    assert!(terms.len() > 10 && terms.is_sorted(), "sort {TERMS}: {terms:?}");
}
