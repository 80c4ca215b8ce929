//! The clients for TypeScript and Python (docs/guide/clients.md): their own tests, against a running server.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use convengine_test_macros::test;
use convengine_tests::{client_test_python, root, server_binary};

use crate::flows::{deploy, desk, publish, serve_desk};

/// Runs the tests of a client in its folder beside a server; returns what they printed.
#[track_caller]
fn run_tests(client: &str, program: &Path, arguments: &[&str]) -> String {
    let document = desk("Desk");
    let (_env, server) = serve_desk(&document, &[]);
    publish(&server, &document);
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root().join("clients").join(client));
    command.env("CONVENGINE_URL", format!("http://{}", server.address)).env("CONVENGINE_DEPLOYMENT", deploy(&server, false));
    command.env("CONVENGINE", server_binary().unwrap());
    // No files beside the sources.
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let Output { status, stdout, stderr } = command.output().unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display()));
    let printed = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{printed}");
    printed
}

/// The number in a line such as `# pass 20`.
fn number_after(text: &str, words: &str) -> Option<u32> {
    text.lines().find_map(|line| line.strip_prefix(words)?.split_whitespace().next()?.parse().ok())
}

/// A client cannot tell one database from another.
#[test]
#[on(sqlite)]
fn the_client_for_typescript_passes_its_tests() {
    let printed = run_tests("typescript", Path::new("node"), &["--test", "--test-reporter=tap"]);
    let counts = ["# pass", "# skipped", "# todo"].map(|words| number_after(&printed, words).unwrap_or_else(|| panic!("{printed}")));
    assert!(counts[0] >= 20 && counts[1..] == [0, 0], "{printed}");
}

/// A client cannot tell one database from another.
#[test]
#[on(sqlite)]
fn the_client_for_python_passes_its_tests() {
    let printed = run_tests("python", &client_test_python().unwrap(), &["-m", "unittest"]);
    assert!(number_after(&printed, "Ran").is_some_and(|count| count >= 20), "{printed}");
    assert_eq!(printed.lines().last(), Some("OK"), "none is skipped: {printed}");
}

#[test]
#[on(no_database)]
fn the_clients_have_the_version_of_the_server() {
    let version = env!("CARGO_PKG_VERSION");
    for (file, line) in
        [("typescript/package.json", format!("\"version\": \"{version}\"")), ("python/pyproject.toml", format!("version = \"{version}\""))]
    {
        let text = fs::read_to_string(root().join("clients").join(file)).unwrap();
        assert!(text.contains(&line), "{file}: expected {line}");
    }
}
