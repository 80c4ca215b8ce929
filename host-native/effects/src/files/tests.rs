//! FILES tools against real folders.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use convengine_core::turn::Map;
use serde_json::json;
use tempfile::TempDir;

use super::*;

/// A root with a few files, and a file outside of it.
struct TestFolder {
    folder: TempDir,
    roots: Roots,
}

impl TestFolder {
    fn new() -> TestFolder {
        let folder = tempfile::tempdir().expect("a folder");
        let shelf = TestFolder { roots: Roots::from([("manuals".to_owned(), folder.path().join("root"))]), folder };
        for (path, text) in [
            ("outside.txt", "secret"),
            ("root/readme.md", "Press the red button.\nThen the green one.\n"),
            ("root/pump/start.txt", "Open the valve.\nPress the RED button twice.\n"),
            ("root/pump/key.pem", "PRIVATE KEY red button"),
            ("root/.hidden.txt", "red button"),
            ("root/.git/config.txt", "red button"),
            ("root/%2e%2e", "a strange name"),
            ("root2/other.txt", "a neighbour whose name begins alike"),
        ] {
            shelf.write(path, text.as_bytes());
        }
        shelf
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        fs::create_dir_all(self.path(path).parent().expect("a folder")).expect("a folder");
        fs::write(self.path(path), bytes).expect("a file");
    }

    async fn ask(&self, spec: Value, args: Value) -> Result<Value, EffectError> {
        let args: Map = serde_json::from_value(args).expect("an object");
        let mut whole = json!({"root": "manuals"});
        whole.as_object_mut().expect("an object").extend(spec.as_object().expect("an object").clone());
        let request =
            ToolRequest { tool_code: Some("manuals".to_owned()), tool_group: "FILES".to_owned(), args, spec: Some(Arc::new(whole)) };
        execute(&BlockingShare::default(), &self.roots, &request).await.map(|answer| serde_json::from_str(&answer).expect("JSON"))
    }

    async fn read(&self, path: &str) -> Result<Value, EffectError> {
        self.ask(json!({"extensions": ["txt", "MD"]}), json!({"path": path})).await
    }

    async fn assert_refused(&self, path: &str, kind: EffectErrorKind) {
        for operation in ["read", "list", "search"] {
            let result = self.ask(json!({"operation": operation}), json!({"path": path, "query": "secret"})).await;
            let error = result.expect_err(path);
            assert_eq!(error.kind, kind, "{operation} {path:?}: {error}");
            assert!(!error.message.contains(&*self.folder.path().to_string_lossy()), "{error}");
        }
    }
}

#[tokio::test]
async fn a_text_file_is_read() {
    let shelf = TestFolder::new();
    let text = "Open the valve.\nPress the RED button twice.\n";
    let expected = json!({"path": "pump/start.txt", "size": text.len(), "text": text, "truncated": false});
    assert_eq!(shelf.read("pump/start.txt").await.expect("a text"), expected);
    let args = json!({"file": "readme.md", "path": "nothing"});
    let read = shelf.ask(json!({"path": "file", "max_bytes": 5}), args).await.expect("a text");
    assert_eq!(read, json!({"path": "readme.md", "size": 42, "text": "Press", "truncated": true}));
}

#[tokio::test]
async fn no_path_escapes_the_root() {
    let shelf = TestFolder::new();
    for path in [
        "../outside.txt",
        "pump/../../outside.txt",
        "pump/../readme.md",
        "..",
        ".",
        "./readme.md",
        "/etc/passwd",
        "//etc/passwd",
        "/",
        "pump//start.txt",
        "..\\outside.txt",
        "pump\\start.txt",
        "C:\\outside.txt",
        "C:/outside.txt",
        "c:outside.txt",
        "\\\\server\\share",
        "readme.md:stream",
        "file:///etc/passwd",
        "readme.md\0.txt",
        "read\nme.md",
        ".hidden.txt",
        ".git/config.txt",
        "pump/.../x",
        "~/.ssh/id_rsa/../../..",
        &"a/".repeat(600),
    ] {
        shelf.assert_refused(path, EffectErrorKind::Denied).await;
    }
    let absolute = shelf.path("root/readme.md").display().to_string();
    let error = shelf.read(&absolute).await.expect_err("an absolute path");
    assert_eq!(error.kind, EffectErrorKind::Denied);
    // Percent-encoding is not decoded: it is part of the name.
    for path in ["%2e%2e/outside.txt", "..%2foutside.txt%", "%252e%252e", "pump%2fstart.txt", "~", "root2/other.txt", "readme.md/x"] {
        let hidden = path.starts_with('.');
        shelf.assert_refused(path, if hidden { EffectErrorKind::Denied } else { EffectErrorKind::NotFound }).await;
    }
    let strange = shelf.ask(json!({}), json!({"path": "%2e%2e"})).await.expect("a file");
    assert_eq!(strange["text"], "a strange name");
}

#[tokio::test]
async fn no_link_escapes_the_root() {
    let shelf = TestFolder::new();
    let link = |to: &Path, at: &str| symlink(to, shelf.path(at)).expect("a link");
    link(&shelf.path("outside.txt"), "root/absolute.txt");
    link(Path::new("../outside.txt"), "root/relative.txt");
    link(Path::new(".."), "root/up");
    link(Path::new("/etc"), "root/etc");
    link(Path::new("../../outside.txt"), "root/pump/deep.txt");
    link(Path::new("relative.txt"), "root/twice.txt");
    for path in ["absolute.txt", "relative.txt", "up/outside.txt", "up", "etc/passwd", "pump/deep.txt", "twice.txt"] {
        shelf.assert_refused(path, EffectErrorKind::Denied).await;
    }
    link(Path::new(".hidden.txt"), "root/shown.txt");
    shelf.assert_refused("shown.txt", EffectErrorKind::Denied).await;
    link(Path::new("key.pem"), "root/pump/key.txt");
    let error = shelf.read("pump/key.txt").await.expect_err("the extension of the link target counts");
    assert_eq!(error.message, "the path 'pump/key.txt' is not allowed: only files that end in txt, MD may be read");
    link(Path::new("pump/start.txt"), "root/inside.txt");
    assert_eq!(shelf.read("inside.txt").await.expect("a text")["path"], "inside.txt");
    link(Path::new("loop.txt"), "root/loop.txt");
    assert!(shelf.read("loop.txt").await.is_err());
    let listed = shelf.ask(json!({"operation": "list"}), json!({})).await.expect("names");
    let names: Vec<&str> = listed["entries"].as_array().expect("entries").iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["%2e%2e", "inside.txt", "pump", "readme.md", "shown.txt"]);
    let found = shelf.ask(json!({"operation": "search"}), json!({"query": "secret"})).await.expect("lines");
    assert_eq!(found["lines"], json!([]));
}

#[tokio::test]
async fn only_regular_files_are_opened() {
    let shelf = TestFolder::new();
    let made = Command::new("mkfifo").arg(shelf.path("root/pipe.txt")).status().expect("mkfifo");
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(shelf.path("root/socket.txt")).expect("a socket");
    for path in ["pipe.txt", "socket.txt", "pump"] {
        let error = shelf.ask(json!({}), json!({"path": path})).await.expect_err(path);
        assert_eq!((error.kind, error.message.ends_with("not a regular file")), (EffectErrorKind::Denied, true), "{error}");
    }
    let listed = shelf.ask(json!({"operation": "list", "extensions": [".txt"]}), json!({"path": ""})).await.expect("names");
    assert_eq!(listed["entries"], json!([{"name": "pump", "kind": "folder", "size": null}]));
    let error = shelf.ask(json!({"operation": "list"}), json!({"path": "readme.md"})).await.expect_err("a file");
    assert_eq!(error.message, "'readme.md' is not a folder: read it, or list the folder it lies in");
    // The search skips them.
    assert_eq!(shelf.ask(json!({"operation": "search"}), json!({"query": "none"})).await.expect("lines")["lines"], json!([]));
}

#[tokio::test]
async fn large_and_binary_files_are_limited() {
    let shelf = TestFolder::new();
    shelf.write("root/big.txt", &b"0123456789".repeat(1_000_000));
    let read = shelf.ask(json!({}), json!({"path": "big.txt"})).await.expect("a text");
    assert_eq!((&read["size"], &read["truncated"]), (&json!(10_000_000), &json!(true)));
    assert_eq!(read["text"].as_str().map(str::len), Some(65_536));
    let sparse = fs::File::create(shelf.path("root/sparse.txt")).expect("a file");
    sparse.set_len(1 << 40).expect("a hole");
    let read = shelf.ask(json!({"max_bytes": 10}), json!({"path": "sparse.txt"})).await.expect("a text");
    assert_eq!((read["size"].as_u64(), read["text"].as_str().map(str::len)), (Some(1 << 40), Some(10)));
    shelf.write("root/cut.txt", "ééé".as_bytes());
    let read = shelf.ask(json!({"max_bytes": 3}), json!({"path": "cut.txt"})).await.expect("a text");
    assert_eq!(read, json!({"path": "cut.txt", "size": 6, "text": "é", "truncated": true}));
    for bytes in [&b"\xff\xfe"[..], b"ab\xc3", b"\xc3\x28 and more text"] {
        shelf.write("root/image.txt", bytes);
        let error = shelf.ask(json!({"max_bytes": 4}), json!({"path": "image.txt"})).await.expect_err("no text");
        assert_eq!(error.message, "'image.txt' is not UTF-8: only text files can be read");
    }
    for index in 0..1_005 {
        shelf.write(&format!("root/many/{index:04}.txt"), b"x");
    }
    let listed = shelf.ask(json!({"operation": "list"}), json!({"path": "many/"})).await.expect("names");
    let entries = listed["entries"].as_array().expect("entries");
    assert_eq!((entries.len(), &entries[999]["name"], &listed["truncated"]), (1_000, &json!("0999.txt"), &json!(true)));
    let found = shelf.ask(json!({"operation": "search"}), json!({"query": "x", "path": "many"})).await.expect("lines");
    assert_eq!((found["lines"].as_array().map(Vec::len), &found["truncated"]), (Some(50), &json!(true)));
    assert_eq!(found["lines"][49], json!({"path": "many/0049.txt", "line": 1, "text": "x"}));
}

#[tokio::test]
async fn lines_with_every_word_are_found() {
    let shelf = TestFolder::new();
    let spec = json!({"operation": "search", "extensions": ["txt", "md"]});
    let found = shelf.ask(spec.clone(), json!({"query": "Button, red!"})).await.expect("lines");
    let lines = json!([
        {"path": "pump/start.txt", "line": 2, "text": "Press the RED button twice."},
        {"path": "readme.md", "line": 1, "text": "Press the red button."},
    ]);
    assert_eq!(found, json!({"path": "", "query": "Button, red!", "lines": lines, "truncated": false}));
    let found = shelf.ask(spec.clone(), json!({"query": "red", "path": "readme.md"})).await.expect("lines");
    assert_eq!(found["lines"].as_array().map(Vec::len), Some(1));
    let error = shelf.ask(spec, json!({"query": " ?"})).await.expect_err("no words");
    assert_eq!(error.message, "missing search terms: give the argument 'query'");
}

#[tokio::test]
async fn an_invalid_tool_configuration_is_reported() {
    let shelf = TestFolder::new();
    for (spec, args, expected) in [
        (json!({"root": "other"}), json!({"path": "x"}), "the root 'other' is not set up: add convengine.files.roots.other"),
        (json!({"operation": "write"}), json!({"path": "x"}), "unknown variant `write`, expected one of `read`, `list`, `search`"),
        (
            json!({"max_bytes": 0}),
            json!({"path": "x"}),
            "max_bytes is not allowed: write a number from 1 to 1048576 into the spec of the tool",
        ),
        (json!({"max_bytes": 2_000_000}), json!({"path": "x"}), "max_bytes is not allowed"),
        (json!({"rot": "x"}), json!({"path": "x"}), "unknown field `rot`"),
        (json!({}), json!({}), "missing path: give the argument 'path'"),
    ] {
        let error = shelf.ask(spec, args).await.expect_err(expected);
        assert_eq!((error.kind, error.message.contains(expected)), (EffectErrorKind::Invalid, true), "{error}");
    }
    let gone = TestFolder {
        roots: Roots::from([("manuals".to_owned(), "/nowhere/at/all".into())]),
        folder: tempfile::tempdir().expect("a folder"),
    };
    let error = gone.read("x.txt").await.expect_err("no root");
    assert_eq!((error.kind, error.message.contains("nowhere")), (EffectErrorKind::NotFound, false), "{error}");
}
