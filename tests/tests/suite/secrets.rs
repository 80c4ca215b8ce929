//! Secrets at rest: sealed, bound to their row, rotated, and backed up without their key. (docs/guide/access.md#secrets)

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::flows::{assert_refused, send};
use crate::harness::{REGEX_ONLY, SECRETS_KEY, SERVE, Server, TestEnv, assert_one_line, orders_pack};

const VALUE: &str = "correct-horse-battery";

fn store(server: &Server, name: &str, value: &str) -> u16 {
    send(server, "POST", "/v1/secrets", &json!({"name": name, "value": value})).status
}

/// The file of an SQLite database and what belongs to it.
fn database_files(env: &TestEnv) -> Vec<PathBuf> {
    let url = env.database_url();
    let path = PathBuf::from(url.strip_prefix("sqlite:").unwrap());
    let file = |ending: &str| PathBuf::from(format!("{}{ending}", path.display()));
    ["", "-wal", "-shm"].map(file).into_iter().filter(|it| it.exists()).collect()
}

fn key_file(env: &TestEnv) -> PathBuf {
    PathBuf::from(format!("{}.key", database_files(env)[0].display()))
}

fn contains(file: &Path, text: &str) -> bool {
    fs::read(file).unwrap().windows(text.len()).any(|window| window == text.as_bytes())
}

fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_stored_secret_is_in_no_row_of_the_database() {
    let env = TestEnv::new();
    let server = env.serve(&REGEX_ONLY);
    assert_eq!(store(&server, "CRM_KEY", VALUE), 201);
    let dump = env.sql().dump().join("\n");
    assert!(dump.contains("CRM_KEY") && !dump.contains(VALUE), "{dump}");
}

/// On PostgreSQL the files belong to its server.
#[test]
#[on(sqlite)]
fn a_stored_secret_is_in_no_file_of_the_database() {
    let env = TestEnv::new();
    let server = env.serve(&REGEX_ONLY);
    assert_eq!(store(&server, "CRM_KEY", VALUE), 201);
    let key = key_file(&env);
    assert!(server.log().contains(&key.display().to_string()), "the log says where the key is: {}", server.log());
    for file in database_files(&env).iter().chain([&key]) {
        assert!(!contains(file, VALUE) && mode(file) == 0o600, "{}", file.display());
    }
    assert_eq!(database_files(&env).len(), 3, "with the log, while the server runs");
}

#[test]
fn a_plain_secret_of_an_earlier_version_is_sealed_at_the_start() {
    let env = TestEnv::with_pack(&orders_pack());
    let plain = format!("insert into cs_secret (name, value, prefix, updated_at) values ('OLD', '{VALUE}', 'cor', 5)");
    env.sql().run(&plain);
    let server = env.serve(&REGEX_ONLY);
    let dump = env.sql().dump().join("\n");
    assert!(dump.contains("OLD") && !dump.contains(VALUE) && env.sql().texts("select prefix from cs_secret") == [""], "{dump}");
    assert_eq!(server.get("/v1/secrets").json()["secrets"][0]["prefix"], "");
    if !env.is_postgres() {
        for file in database_files(&env) {
            assert!(!contains(&file, VALUE), "{}", file.display());
        }
    }
}

#[test]
#[on(postgres)]
fn postgresql_needs_a_key_and_says_so() {
    let env = TestEnv::with_pack(&orders_pack());
    let plain = format!("insert into cs_secret (name, value, prefix, updated_at) values ('OLD', '{VALUE}', 'cor', 5)");
    env.sql().run(&plain);
    // The database named here gets no key from the harness.
    let url = env.database_url();
    let server = env.serve(&[&REGEX_ONLY[..], &["--database", &url]].concat());
    let refused = send(&server, "POST", "/v1/secrets", &json!({"name": "CRM_KEY", "value": VALUE}));
    assert_refused(&refused, 409, "secrets_key_missing");
    assert!(refused.text.contains("convengine.secrets-key"), "{}", refused.text);
    assert!(server.log().contains("1 stored secrets are not sealed; set convengine.secrets-key"), "{}", server.log());
    assert_eq!(env.sql().texts("select value from cs_secret"), [VALUE], "it keeps working");
    drop(server);
    drop(env.serve(&REGEX_ONLY));
    assert!(!env.sql().dump().join("\n").contains(VALUE), "sealed once there is a key");
}

#[test]
fn a_key_that_cannot_be_used_ends_the_start() {
    let env = TestEnv::with_pack(&orders_pack());
    let short = env.write("short", "hunter2hunter2");
    for (value, words) in [
        ("hunter2hunter2".to_owned(), "not a reference"),
        ("file:/no/such/file".to_owned(), "cannot read file '/no/such/file'"),
        (format!("file:{short}"), "is not one of 32 bytes"),
        ("command:false".to_owned(), "command 'false' failed"),
        ("env:NO_SUCH_KEY".to_owned(), "'NO_SUCH_KEY' is not set"),
    ] {
        let set = format!("convengine.secrets-key={value}");
        let output = env.run(&[&SERVE[..], &["--database", &env.database_url(), "--set", &set]].concat());
        assert_one_line(&output, 2, &["convengine.secrets-key", words]);
        assert!(!output.stderr.contains("hunter2"), "{output:?}");
    }
    let secret = format!("convengine.secrets.crm=file:{}", env.write("seven", "hunter2"));
    let output = env.run(&[&SERVE[..], &["--set", &secret]].concat());
    assert_one_line(&output, 2, &["convengine.secrets.crm", "at least 8"]);
    assert!(!output.stderr.contains("hunter2"), "{output:?}");
}

#[test]
fn a_row_copied_to_another_name_does_not_open() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    assert_eq!((store(&server, "CRM_KEY", VALUE), store(&server, "PUBLIC", "shown-to-everybody")), (201, 201));
    drop(server);
    env.sql().run("update cs_secret set value = (select value from cs_secret where name = 'CRM_KEY') where name = 'PUBLIC'");
    let server = env.serve(&REGEX_ONLY);
    let log = server.log();
    assert!(log.contains("the secret 'PUBLIC' cannot be used") && !log.contains("'CRM_KEY' cannot"), "{log}");
}

#[test]
fn a_rotation_seals_all_secrets_with_a_new_key() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    assert_eq!((store(&server, "CRM_KEY", VALUE), store(&server, "ERP", VALUE)), (201, 201));
    let ids = || env.sql().texts("select distinct key_id from cs_secret");
    let first = ids();
    assert_eq!(first.len(), 1);
    let output = if env.is_postgres() {
        let keys = env.write("keys", &format!("{}\n{SECRETS_KEY}\n", "ab".repeat(32)));
        let set = format!("convengine.secrets-key=file:{keys}");
        env.run(&["secret", "rotate", "--database", &env.database_url(), "--set", &set])
    } else {
        env.run(&["secret", "rotate"])
    };
    assert_eq!(output.code, 0, "{output:?}");
    let second = ids();
    assert!(
        second.len() == 1 && first != second && output.stdout.contains(&format!("sealed 2 secrets with key {}", second[0])),
        "{output:?}"
    );
}

/// On PostgreSQL the operator gives each server the key; on SQLite it is a file that a rotation changes.
#[test]
#[on(sqlite)]
fn a_rotation_changes_the_key_of_a_running_server_and_nothing_without_the_old_key() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    assert_eq!((store(&server, "CRM_KEY", VALUE), store(&server, "ERP", VALUE)), (201, 201));
    assert_eq!(env.run(&["secret", "rotate"]).code, 0);
    let ids = || env.sql().texts("select distinct key_id from cs_secret");
    let second = ids();
    assert_eq!(store(&server, "LATER", VALUE), 201, "a running server seals with the new key");
    assert_eq!(ids(), second);
    drop(server);
    let key = key_file(&env);
    fs::rename(&key, env.path("lost")).unwrap();
    let server = env.serve(&REGEX_ONLY);
    assert!(server.log().contains("is sealed with key"), "{}", server.log());
    let refused = send(&server, "POST", "/v1/secrets", &json!({"name": "MORE", "value": VALUE}));
    assert_refused(&refused, 409, "secrets_key_missing");
    let rotation = env.run(&["secret", "rotate"]);
    assert!(rotation.code == 1 && rotation.stderr.contains("secret 'CRM_KEY' cannot be opened"), "{rotation:?}");
    assert!(!key.exists(), "no new key hides the loss");
    drop(server);
    fs::rename(env.path("lost"), &key).unwrap();
    let log = env.serve(&REGEX_ONLY).log();
    assert!(!log.contains("cannot be used"), "{log}");
    // Rotations at once wait for each other.
    let rotations: Vec<_> = (0..4).map(|_| env.command(&["secret", "rotate"]).stdout(Stdio::piped()).spawn().unwrap()).collect();
    for rotation in rotations {
        assert_eq!(rotation.wait_with_output().unwrap().status.code(), Some(0));
    }
    let log = env.serve(&REGEX_ONLY).log();
    assert!(!log.contains("cannot be used"), "{log}");
}

#[test]
#[on(postgres)]
fn a_backup_of_postgresql_is_left_to_pg_dump() {
    let env = TestEnv::with_pack(&orders_pack());
    let copy = env.path("copy.db");
    assert_one_line(&env.run(&["backup", copy.to_str().unwrap()]), 2, &["pg_dump", "SUITE_SECRETS_KEY"]);
    assert!(!copy.exists());
}

/// The command backs up SQLite alone.
#[test]
#[on(sqlite)]
fn a_backup_says_what_it_holds_and_where_the_key_is() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    assert_eq!(store(&server, "CRM_KEY", VALUE), 201);
    server.say("7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a07", "my order");
    let copy = env.path("copy.db");
    let output = env.run(&["backup", copy.to_str().unwrap()]);
    assert_eq!(output.code, 0, "{output:?}");
    let key = key_file(&env).display().to_string();
    for words in ["1 conversations with 1 turns", "0 API keys as hashes", "1 sealed secrets", "does not hold: settings, and the key", &key]
    {
        assert!(output.stdout.contains(words), "{words}: {output:?}");
    }
    assert!(!contains(&copy, VALUE) && !contains(&copy, fs::read_to_string(&key).unwrap().trim()) && mode(&copy) == 0o600);
    assert_one_line(&env.run(&["backup", copy.to_str().unwrap()]), 2, &["exists"]);
    // Restored beside its key, it serves the conversation and the secret.
    fs::copy(&key, format!("{}.key", copy.display())).unwrap();
    let url = format!("sqlite:{}", copy.display());
    let restored = env.serve(&[&REGEX_ONLY[..], &["--database", &url]].concat());
    assert_eq!(restored.get("/v1/secrets").json()["secrets"].as_array().map(Vec::len), Some(1));
    assert_ne!(restored.get("/api/v1/conversation").json(), Value::Null);
    assert!(!restored.log().contains("cannot be used"), "{}", restored.log());
}
