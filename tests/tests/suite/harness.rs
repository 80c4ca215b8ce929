//! Test environments: a temporary folder and database with the commands and servers on it, deleted when the test ends.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use convengine_player::import_pack;
use convengine_settings::{Options, Settings};
use convengine_tests::server_binary;
use convengine_tests::soak::database::DatabaseKind;
use reqwest::blocking::{Client, Response};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::database::{Database, Sql, database_kind};
use crate::turn_cluster::TurnCluster;

/// The path of messages.
pub const MESSAGE: &str = "/api/v1/conversation/message";

/// Settings of a server that needs no model.
pub const REGEX_ONLY: [&str; 2] = ["--set", "convengine.flow.dialogueAct.resolute=REGEX_ONLY"];

/// Settings of a server that stays open, whatever keys and deployments there are.
pub const OPEN: [&str; 2] = ["--set", "convengine.security.mode=none"];

/// A pack with one intent and no model.
pub fn orders_pack() -> Value {
    let row = |id: u32, intent: &str, text: &str| json!({"response_id": id, "intent_code": intent, "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT", "exact_text": text});
    json!({
        "name": "orders",
        "settings": {"flow": {"dialogueAct": {"resolute": "REGEX_ONLY"}}},
        "tables": {
            "ce_intent": [{"intent_code": "ORDERS", "description": "Questions about orders"}, {"intent_code": "OTHER", "description": "Anything else"}],
            "ce_intent_classifier": [
                {"classifier_id": 1, "rule_type": "CONTAINS", "pattern": "order", "intent_code": "ORDERS", "priority": 10},
                {"classifier_id": 2, "rule_type": "REGEX", "pattern": r"^(?![\s\S]*order)", "intent_code": "OTHER", "priority": 20}
            ],
            "ce_response": [row(1, "ORDERS", "Your order is on its way."), row(2, "OTHER", "Ask me about orders{{inputParams.note}}."), row(3, "UNKNOWN", "Ask me.")]
        }
    })
}

/// How long a test waits for an expected condition or an answer, beside others on a slow machine.
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// Starts the server on a free port.
pub const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

/// Asserts the exit code, and that standard error is one line that contains these words.
#[track_caller]
pub fn assert_one_line(output: &CommandOutput, code: i32, words: &[&str]) {
    assert_eq!((output.code, output.stderr.lines().count()), (code, 1), "{output:?}");
    assert!(words.iter().all(|it| output.stderr.contains(it)), "{words:?} in {}", output.stderr);
    assert_eq!(output.stdout, "", "the server has started: {output:?}");
}

/// Whether a text contains a value by itself. Ids and ports contain any few digits by chance.
pub fn contains_word(text: &str, word: &str) -> bool {
    let is_joined = |neighbour: Option<char>| neighbour.is_some_and(|character| character.is_alphanumeric() || character == '-');
    text.match_indices(word).any(|(at, _)| !is_joined(text[..at].chars().next_back()) && !is_joined(text[at + word.len()..].chars().next()))
}

/// The key that seals secrets on PostgreSQL.
pub const SECRETS_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// A temporary folder and a database.
pub struct TestEnv {
    folder: PathBuf,
    files: AtomicU32,
    database: Database,
}

/// The outcome of a command.
#[derive(Debug)]
pub struct CommandOutput {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl TestEnv {
    /// An environment with an empty database of the kind on which the test runs.
    #[track_caller]
    pub fn new() -> TestEnv {
        TestEnv::with_database(Database::new_empty)
    }

    /// An environment for tests that do not care how the tables are created.
    #[track_caller]
    pub fn with_tables() -> TestEnv {
        TestEnv::with_database(Database::with_tables)
    }

    #[track_caller]
    fn with_database(database: fn(DatabaseKind, &Path, &str) -> Database) -> TestEnv {
        let kind = database_kind();
        static PLACES: AtomicU32 = AtomicU32::new(0);
        let name = format!("convengine-suite-{}-{}", std::process::id(), PLACES.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(&name);
        fs::create_dir(&folder).unwrap();
        let database = database(kind, &folder, &name);
        TestEnv { folder, files: AtomicU32::new(0), database }
    }

    /// A new environment with a copy of the database. No server may be running on it.
    pub fn copy(&self) -> TestEnv {
        let env = TestEnv::new();
        self.database.copy_to(&env.database);
        env
    }

    /// An environment whose database has the rows of a pack.
    #[track_caller]
    pub fn with_pack(pack: &Value) -> TestEnv {
        let env = TestEnv::with_tables();
        let file = env.write_pack("pack.json", pack);
        import_pack(&Runtime::new().unwrap(), file.as_ref(), &env.database_url()).unwrap();
        env
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file; returns its path.
    pub fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        self.path(name).display().to_string()
    }

    pub fn write_pack(&self, name: &str, pack: &Value) -> String {
        self.write(name, &pack.to_string())
    }

    /// Whether the database has no tables.
    pub fn is_untouched(&self) -> bool {
        self.database.is_empty()
    }

    pub fn is_postgres(&self) -> bool {
        matches!(self.database, Database::Postgres { .. })
    }

    /// The database's URL.
    pub fn database_url(&self) -> String {
        self.database.url()
    }

    /// The settings of a command on the database that runs in this process, because a process takes longer than its work.
    pub fn settings(&self) -> Settings {
        Settings::load(&Options { database: Some(self.database_url()), ..Options::default() }).unwrap()
    }

    /// A command on the database, unless the arguments name another one.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(server_binary().unwrap());
        command.args(arguments);
        if !arguments.contains(&"--database") {
            command.args(["--database", &self.database_url()]);
            if self.is_postgres() {
                // On SQLite the key is made beside the file.
                command.args(["--set", "convengine.secrets-key=env:SUITE_SECRETS_KEY"]).env("SUITE_SECRETS_KEY", SECRETS_KEY);
            }
        }
        command
    }

    pub fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.run_command(&mut self.command(arguments))
    }

    /// Runs a command to its end.
    pub fn run_command(&self, command: &mut Command) -> CommandOutput {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let (out, err) = (self.path(&format!("out-{number}")), self.path(&format!("err-{number}")));
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        let code = wait_for_exit(&mut command.spawn().unwrap()).code().unwrap_or(-1);
        CommandOutput { code, stdout: fs::read_to_string(out).unwrap(), stderr: fs::read_to_string(err).unwrap() }
    }

    pub fn serve(&self, arguments: &[&str]) -> Server {
        let arguments = [&SERVE, arguments].concat();
        self.start(&mut self.command(&arguments))
    }

    /// Starts a server and waits for its address.
    pub fn start(&self, command: &mut Command) -> Server {
        self.start_process(command, None)
    }

    /// Starts a server whose turns run on a cluster, with these settings of its worker.
    pub fn start_on_restate(&self, command: &mut Command, worker_settings: &[&str]) -> Server {
        let cluster = TurnCluster::start(&self.folder, command, worker_settings);
        self.start_process(command, Some(cluster))
    }

    fn start_process(&self, command: &mut Command, cluster: Option<TurnCluster>) -> Server {
        let err = self.path(&format!("err-{}", self.files.fetch_add(1, Ordering::Relaxed)));
        command.stdout(Stdio::piped()).stderr(File::create(&err).unwrap());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("convengine listening on http://").map(str::to_owned);
        let mut server = Server { child: Mutex::new(child), address: String::new(), stderr_path: err, client: client(), cluster };
        server.address = address.unwrap_or_else(|| panic!("not started: {line}{}", server.log()));
        server
    }

    /// Makes the database unreachable: on SQLite for servers that start from now on, on PostgreSQL also for those that run.
    pub fn take_database_away(&self) {
        self.database.take_away();
    }

    pub fn bring_database_back(&self) {
        self.database.bring_back();
    }

    pub fn sql(&self) -> Sql {
        Sql::open(&self.database)
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Waits for a process to exit.
fn wait_for_exit(child: &mut Child) -> ExitStatus {
    let mut status = None;
    let ended = wait_until(|| {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    if !ended {
        let _ = child.kill();
    }
    status.expect("the process does not exit")
}

/// Polls a condition until it is true; returns whether it was true in time.
pub fn wait_until(mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < TIMEOUT {
        if condition() {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}

/// A running server.
pub struct Server {
    /// Locked, because tests kill the server while other threads wait for its answers.
    child: Mutex<Child>,
    pub address: String,
    stderr_path: PathBuf,
    client: Client,
    /// What runs its turns, if the server itself does not. It is stopped after the server.
    pub cluster: Option<TurnCluster>,
}

/// A response of the server.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Answer {
    fn from_response(response: Response) -> Answer {
        Answer { status: response.status().as_u16(), headers: response.headers().clone(), text: response.text().unwrap() }
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }
}

impl Server {
    pub fn pid(&self) -> u32 {
        self.child.lock().unwrap().id()
    }

    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: impl Into<reqwest::blocking::Body>) -> Answer {
        let mut call = self.client.request(method.parse().unwrap(), format!("http://{}{path}", self.address)).body(body);
        for (name, value) in headers {
            call = call.header(*name, *value);
        }
        Answer::from_response(call.send().unwrap())
    }

    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], "")
    }

    pub fn post(&self, body: impl Into<reqwest::blocking::Body>) -> Answer {
        self.request("POST", MESSAGE, &[("Content-Type", "application/json")], body)
    }

    /// Sends a message; returns the response, which has status 200.
    pub fn say(&self, conversation: &str, text: &str) -> Value {
        let answer = self.post(json!({"conversationId": conversation, "message": text}).to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    pub fn audit(&self, conversation: &str) -> Vec<Value> {
        let answer = self.get(&format!("/api/v1/conversation/audit/{conversation}"));
        assert_eq!(answer.status, 200, "{answer:?}");
        serde_json::from_value(answer.json()).unwrap()
    }

    /// The texts of a conversation's turns from the audit.
    pub fn texts(&self, conversation: &str) -> Vec<Value> {
        let rows = self.audit(conversation);
        let payload = |row: &Value| serde_json::from_str::<Value>(row["payloadJson"].as_str().unwrap()).unwrap();
        rows.iter().filter(|it| it["stage"] == "USER_INPUT").map(|row| payload(row)["text"].clone()).collect()
    }

    /// Standard error so far.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.stderr_path).unwrap()
    }

    /// Sends a message whose response may never come.
    pub fn try_post(&self, body: &str) {
        let call = self.client.post(format!("http://{}{MESSAGE}", self.address)).header("Content-Type", "application/json");
        drop(call.body(body.to_owned()).send());
    }

    /// Kills it as `kill -9` does, and waits until it has released its database.
    pub fn kill(&self) {
        let mut child = self.child.lock().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        let signalled = Command::new("sh").args(["-c", &format!("kill -TERM {}", self.pid())]).status().unwrap();
        assert!(signalled.success());
    }

    /// Waits for the exit; returns the exit code.
    pub fn exit_code(&mut self) -> Option<i32> {
        wait_for_exit(self.child.get_mut().unwrap()).code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(child) = self.child.get_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// An HTTP client for test servers and services.
pub fn client() -> Client {
    convengine_host_base::crypto::install_crypto_provider();
    Client::builder().tls_certs_only([]).timeout(TIMEOUT).build().unwrap()
}
