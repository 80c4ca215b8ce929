//! The default progress messages.

use std::fs;

use convengine_test_macros::test;
use convengine_tests::root;

use crate::harness::TestEnv;

#[test]
fn progress_messages_load_lint_clean_and_name_existing_steps() {
    let env = TestEnv::new();
    assert_eq!(env.run(&["migrate"]).code, 0);
    let seed = fs::read_to_string(root().join("migrations/seed/verbose.sql")).unwrap();
    let mut sql = env.sql();
    sql.run(&seed);
    let lint = env.run(&["lint"]);
    assert_eq!((lint.code, lint.stdout.lines().filter(|it| it.contains("ce_verbose")).count()), (0, 0), "{lint:?}");
    let rows = sql.texts("select step_value || ' ' || determinant from ce_verbose order by verbose_id");
    assert!(rows.len() > 20, "{rows:?}");
    let sources = sources();
    for row in rows {
        let (step, determinant) = row.split_once(' ').unwrap();
        let is_emitted = sources.iter().any(|text| text.contains(&format!("\"{determinant}\"")) && (step == "ANY" || text.contains(step)));
        assert!(is_emitted, "no source emits {determinant} of {step}");
    }
}

/// The source files of the pipelines, one text per folder, because a step's name may be in a file beside.
fn sources() -> Vec<String> {
    let mut texts = Vec::new();
    let mut open = vec![root().join("core/tables/src")];
    while let Some(folder) = open.pop() {
        let mut text = String::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                text.push_str(&fs::read_to_string(path).unwrap());
            }
        }
        texts.push(text);
    }
    texts
}
