//! `convengine init`: what it makes works, for each kind, and what it must not write stays away.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use convengine_test_macros::test;
use convengine_tests::server_binary;
use serde_json::{Value, json};
use uuid::Uuid;

/// Runs a command in a folder, where nobody can be asked.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(server_binary().unwrap());
    for variable in ["CONVENGINE_DATABASE", "CONVENGINE_LLM", "CONVENGINE_SET", "CONVENGINE_SETTINGS", "CONVENGINE_TENANT"] {
        command.env_remove(variable);
    }
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn text(output: &[u8]) -> String {
    String::from_utf8(output.to_vec()).unwrap()
}

/// Calls the function with an empty folder, which is removed unless the test fails.
fn in_folder(check: impl FnOnce(&Path)) {
    let folder = std::env::temp_dir().join(format!("convengine-init-{}", Uuid::new_v4()));
    fs::create_dir(&folder).unwrap();
    check(&folder);
    fs::remove_dir_all(&folder).unwrap();
}

/// Fails unless the project has no findings, its talks pass, and its settings are valid for a server.
fn assert_works(project: &Path, pack: &str, id: &str) {
    let lint = run(project, &["lint", pack, "--json"]);
    let findings: Value = serde_json::from_slice(&lint.stdout).unwrap();
    assert_eq!((lint.status.code(), findings.as_array().map(Vec::len)), (Some(0), Some(0)), "{findings}");
    let mut talks: Vec<String> = fs::read_dir(project.join("talks")).unwrap().map(|it| it.unwrap().path().display().to_string()).collect();
    talks.sort();
    let arguments: Vec<&str> = ["test"].into_iter().chain(talks.iter().map(String::as_str)).collect();
    let played = run(project, &arguments);
    let output = text(&played.stdout);
    assert_eq!(played.status.code(), Some(0), "{output}{}", text(&played.stderr));
    assert!(output.ends_with(&format!("{} passed, 0 failed\n", talks.len())), "{output}");
    let text_of_pack: Value = serde_json::from_str(&fs::read_to_string(project.join(pack)).unwrap()).unwrap();
    assert_eq!(text_of_pack["name"], id);
    let imported = run(project, &["import", pack, "--strict", "--settings", "convengine.toml"]);
    assert_eq!(imported.status.code(), Some(0), "{}", text(&imported.stderr));
    assert!(project.join(".convengine/dev.db").exists(), "the database is not where version control ignores it");
}

#[test]
#[on(no_database)]
fn a_project_of_each_kind_works() {
    in_folder(|folder| {
        for (kind, name, id) in
            [("assistant", "Zahnärzte am Markt", "zahnaerzte-am-markt"), ("tables", "24h pharmacy", "tables-24h-pharmacy")]
        {
            let made = run(folder, &["init", name, "--kind", kind]);
            assert_eq!((made.status.code(), text(&made.stderr).as_str()), (Some(0), ""));
            let printed = text(&made.stdout);
            for part in [
                format!("'{id}'"),
                format!("  {kind}.json\n"),
                format!("  cd '{name}'\n  convengine chat\n  convengine dev\n  convengine test "),
            ] {
                assert!(printed.contains(&part), "{part} is not in {printed}");
            }
            assert_works(&folder.join(name), &format!("{kind}.json"), id);
        }
    });
}

#[test]
#[on(no_database)]
fn where_nobody_can_be_asked_it_is_an_assistant_in_this_folder() {
    in_folder(|folder| {
        let project = folder.join("clinic");
        fs::create_dir_all(project.join(".git")).unwrap();
        let made = run(&project, &["init"]);
        assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
        assert!(!text(&made.stdout).contains("  cd "), "it is made where one is already");
        assert_works(&project, "assistant.json", "clinic");
    });
}

#[test]
#[on(no_database)]
fn a_folder_with_files_is_refused() {
    in_folder(|folder| {
        assert_eq!(run(folder, &["init", "shop"]).status.code(), Some(0));
        let file = folder.join("shop/assistant.json");
        let before = fs::read(&file).unwrap();
        let attempts: [&[&str]; 3] = [&["init", "shop"], &["init", "shop", "--kind", "tables"], &["init"]];
        for arguments in attempts {
            let refused = run(folder, arguments);
            assert_eq!((refused.status.code(), text(&refused.stdout).as_str()), (Some(2), ""), "{arguments:?}");
            assert_eq!(text(&refused.stderr).lines().count(), 1, "{}", text(&refused.stderr));
        }
        assert_eq!(fs::read(&file).unwrap(), before);
        assert!(!folder.join("shop/tables.json").exists() && !folder.join("AGENTS.md").exists());
        assert_eq!(run(folder, &["init", "other", "--kind", "poem"]).status.code(), Some(2));
        assert!(!folder.join("other").exists());
    });
}

#[test]
#[on(no_database)]
fn lint_reads_the_settings_beside_the_file() {
    in_folder(|folder| {
        assert_eq!(run(folder, &["init", "clinic"]).status.code(), Some(0));
        let project = folder.join("clinic");
        let file = project.join("assistant.json");
        let mut pack: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        pack["documents"][0]["tools"] =
            json!([{"id": "free", "name": "Free", "kind": "http", "request": {"method": "GET", "url": "http://127.0.0.1:9000/free"}}]);
        fs::write(&file, pack.to_string()).unwrap();
        let lint = |place: &Path, arguments: &[&str]| {
            let output = run(place, &[&["lint"][..], arguments].concat());
            (output.status.code(), text(&output.stdout).matches(" V003 ").count())
        };
        assert_eq!(lint(&project, &["assistant.json"]), (Some(1), 1));
        let own = project.join("convengine.toml");
        let settings = "[convengine.network]\nallow-private = [\"127.0.0.1:9000\"]\n[convengine.files.roots]\ntalks = \"talks\"\n";
        fs::write(&own, settings).unwrap();
        assert_eq!(lint(&project, &["assistant.json"]), (Some(0), 0));
        assert_eq!(lint(folder, &["clinic/assistant.json"]), (Some(0), 0), "paths in the settings are relative to their folder");
        fs::write(folder.join("other.toml"), "listen = \"127.0.0.1:0\"\n").unwrap();
        assert_eq!(lint(folder, &["clinic/assistant.json", "--settings", "other.toml"]), (Some(1), 1));
        fs::write(&own, "[convengine.network]\nallow-privat = []\n").unwrap();
        assert_eq!(lint(&project, &["assistant.json"]).0, Some(2));
        fs::remove_file(&own).unwrap();
        assert_eq!(lint(&project, &["assistant.json"]), (Some(1), 1));
    });
}

/// An editor starts its server with these arguments, in this folder or in another one.
#[test]
#[on(no_database)]
fn the_servers_of_editors_start() {
    in_folder(|folder| {
        assert_eq!(run(folder, &["init", "shop", "--kind", "tables"]).status.code(), Some(0));
        let project = folder.join("shop");
        for (file, servers, place) in [
            (".mcp.json", "mcpServers", project.as_path()),
            (".cursor/mcp.json", "mcpServers", folder),
            (".vscode/mcp.json", "servers", folder),
        ] {
            let settings: Value = serde_json::from_str(&fs::read_to_string(project.join(file)).unwrap()).unwrap();
            let server = &settings[servers]["convengine"];
            assert_eq!(server["command"], "convengine", "{file}");
            let arguments: Vec<String> = server["args"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect();
            let shown = project.display().to_string();
            let arguments: Vec<String> = arguments.iter().map(|it| it.replace("${workspaceFolder}", &shown)).collect();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            // Its input is at its end at once, so the server starts and ends.
            let ended = run(place, &arguments);
            assert_eq!(ended.status.code(), Some(0), "{file}: {}", text(&ended.stderr));
        }
        assert!(project.join(".convengine/editor.db").exists());
    });
}
