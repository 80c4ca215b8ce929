//! Settings: their sources, their precedence, and the errors of invalid ones.

use convengine_test_macros::test;

use crate::harness::{SERVE, Server, TestEnv, assert_one_line, orders_pack};

/// The maximum length of a message, found by trying.
fn max_chars(server: &Server) -> usize {
    let taken = (1..10).take_while(|length| server.post(format!("{{\"message\":\"{}\"}}", "x".repeat(*length))).status == 200);
    taken.last().unwrap_or_default()
}

#[test]
fn an_option_overrides_the_environment_which_overrides_the_file() {
    let env = TestEnv::with_pack(&orders_pack());
    let file = env.write("settings.toml", "[convengine.input]\nmaxChars = 3\n");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--settings", &file];
    assert_eq!(max_chars(&env.start(&mut env.command(&arguments))), 3);
    let mut command = env.command(&arguments);
    assert_eq!(max_chars(&env.start(command.env("CONVENGINE_SET", "convengine.input.max-chars=4"))), 4);
    let mut command = env.command(&[&arguments[..], &["--set", "convengine.input.maxChars=5"]].concat());
    assert_eq!(max_chars(&env.start(command.env("CONVENGINE_SET", "convengine.input.max-chars=4"))), 5);
    let mut command = env.command(&[&arguments[..], &["--set", "convengine.audit.level=NONE"]].concat());
    let server = env.start(command.env("CONVENGINE_SET", "convengine.input.max-chars=4\nconvengine.flow.dialogueAct.resolute=REGEX_ONLY"));
    assert_eq!(max_chars(&server), 4, "an option overrides no other key of the environment");
    let (id, text) = ("0b0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a01", "hi");
    assert_eq!(server.say(id, text)["success"], true);
    assert_eq!(server.audit(id).len(), 0);
    drop(server);
    assert_eq!(max_chars(&env.serve(&[])), 9, "the default is higher");
}

/// A typical `application.yml` of the original.
const APPLICATION: &str = "
spring:
  application: {name: shop}
server: {port: 9}
convengine:
  input:
    max_chars: ${LONGEST:4}
  flow:
    dialogueAct: {resolute: REGEX_ONLY}
    interaction-policy:
      matrix:
        \"[PENDING_ACTION:AFFIRM]\": EXECUTE_PENDING_ACTION
---
spring.config.activate.on-profile: test
convengine.input.max-chars: 1
";

#[test]
fn an_application_yaml_of_the_original_is_read() {
    let env = TestEnv::with_pack(&orders_pack());
    let file = env.write("application.yml", APPLICATION);
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--settings", &file];
    let hash = |server: &Server| server.get("/readyz").json()["config"].clone();
    let server = env.start(&mut env.command(&arguments));
    assert_eq!((max_chars(&server), server.log().as_str()), (4, ""), "no key is unknown");
    let original = hash(&server);
    drop(server);
    let same = env.write("same.toml", "[convengine.input]\nmax-chars = 4\n[convengine.flow.dialogue-act]\nresolute = \"REGEX_ONLY\"\n[convengine.flow.interaction-policy.matrix]\n\"[PENDING_ACTION:AFFIRM]\" = \"EXECUTE_PENDING_ACTION\"\n");
    assert_eq!(hash(&env.serve(&["--settings", &same])), original);
    let mut command = env.command(&arguments);
    assert_eq!(max_chars(&env.start(command.env("LONGEST", "6"))), 6);
    let mut command = env.command(&[&arguments[..], &["--set", "convengine.input.max-chars=5"]].concat());
    assert_eq!(max_chars(&env.start(command.env("LONGEST", "6"))), 5);
    for (name, text, words) in [
        ("application.yaml", "convengine: [\n", "application.yaml"),
        ("application.yml", "convengine: 5\n", "convengine: 5 is not a map"),
        ("application.yml", "convengine: {input: {max-chars: \"${LONGEST}\"}}\n", "LONGEST is not set"),
        ("application.yml", "a: 1\na: 2\n", "duplicate mapping key `a`"),
        ("application.properties", "a=1\n", ".properties"),
    ] {
        let file = env.write(name, text);
        assert_one_line(&env.run(&[&SERVE[..], &["--settings", &file]].concat()), 2, &["settings file", words]);
    }
}

#[test]
fn the_database_is_configured_in_the_same_ways() {
    let env = TestEnv::new();
    let address = |name: &str| format!("sqlite:{}", env.path(name).display());
    let file = env.write("settings.toml", &format!("database = \"{}\"\n", address("file.db")));
    let migrate = |arguments: &[&str], variable: bool| {
        let mut command = std::process::Command::new(convengine_tests::server_binary().unwrap());
        command.arg("migrate").args(arguments).current_dir(env.path(""));
        if variable {
            command.env("CONVENGINE_DATABASE", address("variable.db"));
        }
        let output = env.run_command(&mut command);
        assert_eq!(output.code, 0, "{output:?}");
        let found = ["option.db", "variable.db", "file.db", "convengine.db"].into_iter().find(|name| env.path(name).exists());
        let found = found.expect("a database").to_owned();
        std::fs::remove_file(env.path(&found)).unwrap();
        found
    };
    assert_eq!(migrate(&["--settings", &file, "--database", &address("option.db")], true), "option.db");
    assert_eq!(migrate(&["--settings", &file], true), "variable.db");
    assert_eq!(migrate(&["--settings", &file], false), "file.db");
    assert_eq!(migrate(&[], false), "convengine.db");
}

#[test]
fn a_key_has_two_spellings_and_an_unknown_key_ends_the_start() {
    let env = TestEnv::with_pack(&orders_pack());
    let set = |key: &str| format!("convengine.{key}");
    let hash = |arguments: &[&str]| {
        let server = env.serve(arguments);
        (server.get("/readyz").json()["config"].clone(), server.log())
    };
    let (camel, log) = hash(&["--set", &set("flow.dialogueAct.llmThreshold=0.5")]);
    assert_eq!(log, "");
    let (kebab, _) = hash(&["--set", &set("flow.dialogue-act.llm-threshold=0.5")]);
    assert_eq!(camel, kebab);
    for (typo, meant) in [
        ("flow.dialogue-act.llm-treshold=0.5", "flow.dialogue-act.llm-threshold"),
        ("securty.mode=keys", "security.mode"),
        ("tenants.acme.security.moed=keys", "security.mode"),
    ] {
        let set = set(typo);
        let arguments = [&SERVE[..], &["--set", "convengine.tenants.acme.database=sqlite:acme.db", "--set", &set]].concat();
        assert_one_line(&env.run(&arguments), 2, &["unknown setting in --set", &format!("did you mean convengine.{meant}?")]);
        let mut command = env.command(&SERVE);
        command.env("CONVENGINE_SET", format!("convengine.tenants.acme.database=sqlite:acme.db\n{set}"));
        assert_one_line(
            &env.run_command(&mut command),
            2,
            &["unknown setting in CONVENGINE_SET", &format!("did you mean convengine.{meant}?")],
        );
    }
    assert_one_line(
        &env.run(&[&SERVE[..], &["--set", "convengine.tables.AUDIT=log"]].concat()),
        2,
        &["convengine.tables.AUDIT", "ce_audit"],
    );
    assert_eq!(env.serve(&["--set", "convengine.tables.AUDIT=ce_audit"]).log(), "");
}

#[test]
fn every_invalid_setting_is_reported_in_one_line() {
    let env = TestEnv::new();
    let set = |value: &'static str| ["--set", value];
    let bad = [
        set("convengine.flow.dialogueAct.resolute=SOMETIMES"),
        set("convengine.input.max-chars=many"),
        set("convengine.config.strict=perhaps"),
        set("convengine.database.synchronous=sometimes"),
        set("max-chars=5"),
    ];
    let output = env.run(&[&SERVE[..], bad.as_flattened()].concat());
    assert_eq!((output.code, output.stdout.as_str(), output.stderr.lines().count()), (2, "", 5), "{output:?}");
    for words in [
        "flow.dialogue-act.resolute",
        "convengine.input.max-chars: ",
        "config.strict",
        "database.synchronous",
        "--set max-chars: invalid setting",
    ] {
        assert_eq!(output.stderr.lines().filter(|it| it.contains(words)).count(), 1, "{words} in {}", output.stderr);
    }
    for (text, words) in [
        ("listen = 5\n", "listen: 5 is not a string"),
        ("convengine = 5\n", "convengine: 5 is not a map"),
        ("colour = \"red\"\n", "colour: unknown key"),
        ("listen = \n", "settings.toml"),
    ] {
        let file = env.write("settings.toml", text);
        assert_one_line(&env.run(&[&SERVE[..], &["--settings", &file]].concat()), 2, &[words]);
    }
    assert_one_line(&env.run(&[&SERVE[..], &["--settings", "nowhere.toml"]].concat()), 2, &["nowhere.toml"]);
    for (arguments, words) in [
        (["--llm", "scripted:nowhere.json"], "nowhere.json"),
        (["--llm", "oracle"], "scripted:FILE"),
        (["--listen", "nowhere"], "HOST:PORT"),
        (["--listen", "127.0.0.1:99999"], "HOST:PORT"),
        (["--database", "test.db"], "sqlite:PATH"),
    ] {
        let serve = ["serve"];
        let listen: &[&str] = if arguments[0] == "--listen" { &[] } else { &["--listen", "127.0.0.1:0"] };
        assert_one_line(&env.run(&[&serve, listen, &arguments].concat()), 2, &[words]);
    }
    assert!(env.is_untouched(), "a server that does not start creates nothing");
}

#[test]
fn a_public_address_must_be_confirmed() {
    let env = TestEnv::with_pack(&orders_pack());
    assert_one_line(&env.run(&["serve", "--listen", "0.0.0.0:0"]), 2, &["convengine.security.mode=none"]);
    assert_one_line(&env.run(&["serve", "--listen", "[::]:0"]), 2, &["convengine.security.mode=none"]);
    let mut command = env.command(&["serve", "--listen", "0.0.0.0:0", "--set", "convengine.security.mode=none"]);
    assert_eq!(env.start(&mut command).get("/healthz").status, 200);
}
