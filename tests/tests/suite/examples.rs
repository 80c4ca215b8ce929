//! Examples, which people copy: READMEs are followed as they stand, and programs print what their READMEs say.

use std::fs;
use std::path::{Path, PathBuf};

use convengine_test_macros::test;
use convengine_tests::root;

use crate::sources::{files, read};
use crate::start::follow_example;

/// On SQLite only, because the README uses the default database.
#[test]
#[on(no_database)]
fn a_task_in_python_answers_as_printed_on_sqlite() {
    follow_example("examples/task-python", |text| text);
}

/// On SQLite only, because the README uses the default database.
#[test]
#[on(no_database)]
fn a_tool_in_typescript_answers_as_printed_on_sqlite() {
    follow_example("examples/task-typescript", |text| text);
}

/// On SQLite only, because the README uses the default database.
#[test]
#[on(no_database)]
fn a_task_in_java_answers_as_printed_on_sqlite() {
    follow_example("examples/task-java", |text| text);
}

/// On SQLite only, because the README uses a file.
#[test]
#[on(no_database)]
fn a_client_of_the_model_context_protocol_prints_what_its_readme_says_on_sqlite() {
    follow_example("examples/mcp-client", |text| text);
}

#[test]
#[on(no_database)]
fn the_examples_of_the_core_print_what_their_readme_says() {
    let sources = files("core/examples", &[".rs"]);
    follow_example("core/examples", |text| {
        sources.iter().fold(text, |text, source| {
            let name = source.file_stem().unwrap().to_str().unwrap();
            let call = format!("$ cargo run --example {name}");
            assert!(text.contains(&format!("{call}\n")) || text.contains(&format!("{call} ")), "the README does not run '{name}'");
            let program = format!("$ '{}'", example_program(source, name).display());
            text.replace(&format!("{call}\n"), &format!("{program}\n")).replace(&format!("{call} -- "), &format!("{program} "))
        })
    });
}

/// The program of an example, which `cargo test` alone does not build.
fn example_program(source: &Path, name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples").join(name);
    let last_change = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    assert!(
        last_change(&program) >= last_change(source),
        "the example '{name}' is not built, or has changed since; run `cargo build --workspace --all-targets` first"
    );
    program
}

#[test]
#[on(no_database)]
fn the_readme_of_the_core_explains_each_line_of_the_first_turn() {
    let lines = |text: &str| text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    let readme = read(&root().join("core/README.md"));
    let blocks = readme.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let quoted: Vec<String> = blocks.flat_map(lines).collect();
    let mut source = lines(&read(&root().join("core/examples/first_turn.rs")));
    source.retain(|line| !line.starts_with("//!"));
    assert!(source.len() > 60, "{source:?}");
    assert_eq!(quoted, source);
}

#[test]
#[on(no_database)]
fn the_table_of_examples_names_each_of_them() {
    let page = read(&root().join("examples/README.md"));
    let folders = fs::read_dir(root().join("examples")).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir());
    let folders = folders.map(|entry| format!("({}/", entry.file_name().to_str().unwrap()));
    let programs = files("core/examples", &[".rs"]).into_iter();
    let programs = programs.map(|path| format!("(../core/examples/{})", path.file_name().unwrap().to_str().unwrap()));
    let missing: Vec<String> = folders.chain(programs).filter(|link| !page.contains(link)).collect();
    assert!(missing.is_empty(), "examples/README.md does not link {missing:?}");
}
