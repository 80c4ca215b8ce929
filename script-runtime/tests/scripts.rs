//! Runs the interpreter that `cargo xtask python` builds: ordinary scripts, hostile ones, and the same in a JavaScript engine.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use convengine_script_runtime::{RunError, ScriptRuntime};
use serde_json::{Value, json};

/// Longer than any script needs on a loaded machine: the module stops them all by itself.
const TIMEOUT: Duration = Duration::from_secs(120);

fn module() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../web-demo/public/python.wasm")
}

/// Returns the interpreter, which is compiled once.
fn runtime() -> &'static ScriptRuntime {
    static RUNTIME: OnceLock<ScriptRuntime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let wasm = std::fs::read(module()).expect("run `cargo xtask python` first");
        let begin = Instant::now();
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interpreter");
        let runtime = ScriptRuntime::compile(&wasm, Some(&cache)).expect("it compiles");
        println!("compiled or loaded in {} ms", begin.elapsed().as_millis());
        runtime
    })
}

fn cases(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
    serde_json::from_slice(&std::fs::read(path).expect("the file exists")).expect("the file holds JSON")
}

/// Returns the input of a case. The JavaScript side composes it in the same way.
fn input(case: &Value) -> String {
    let lines: Vec<&str> = case["code"].as_array().expect("lines").iter().filter_map(Value::as_str).collect();
    let session = case.get("session").cloned().unwrap_or_else(|| json!({"_count": 1, "_memory": {"messages": []}}));
    let now = case.get("now").cloned().unwrap_or_else(|| json!("2026-05-04T03:02:01Z"));
    let seed = case.get("seed").cloned().unwrap_or_else(|| json!("7"));
    json!({"code": lines.join("\n"), "session": session, "event": case["event"], "params": case["params"], "now": now, "seed": seed})
        .to_string()
}

fn run(runtime: &ScriptRuntime, input: &str) -> Value {
    let output = runtime.run(input, TIMEOUT).expect("it ends in time");
    serde_json::from_str(&output).expect("the output is JSON")
}

fn run_code(runtime: &ScriptRuntime, code: &str) -> Value {
    run(runtime, &json!({"code": code, "now": "2026-05-04T03:02:01Z", "seed": "7"}).to_string())
}

#[test]
#[ignore = "needs the interpreter of scripts; `cargo xtask test` builds it"]
fn ordinary_scripts_do_what_python_does() {
    let runtime = runtime();
    let wrong: Vec<String> = cases("ordinary.json")
        .iter()
        .filter_map(|case| {
            let output = run(runtime, &input(case));
            (output != case["output"]).then(|| format!("{}:\n  {output}\n  {}", case["name"], case["output"]))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "needs the interpreter of scripts; `cargo xtask test` builds it"]
fn hostile_scripts_are_stopped() {
    let runtime = runtime();
    let cases = cases("hostile.json");
    let mut times = Vec::new();
    let mut wrong = Vec::new();
    for case in &cases {
        let begin = Instant::now();
        let output = runtime.run(&input(case), TIMEOUT);
        times.push((begin.elapsed(), case["name"].to_string()));
        let code = output.as_ref().ok().and_then(|text| serde_json::from_str::<Value>(text).ok()).map(|it| it["failure"]["code"].clone());
        if code.as_ref() != Some(&case["failure"]) {
            let shown: String = format!("{output:?}").chars().take(300).collect();
            wrong.push(format!("{} must be {}: {shown}", case["name"], case["failure"]));
        }
    }
    times.sort();
    println!("{} scripts; the longest: {:#?}", cases.len(), times.iter().rev().take(12).collect::<Vec<_>>());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "needs the interpreter of scripts; `cargo xtask test` builds it"]
fn outputs_equal_those_of_a_javascript_engine() {
    let runtime = runtime();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outputs.mjs");
    let node = Command::new("node").arg(script).arg(module()).output().expect("Node.js starts");
    assert!(node.status.success(), "{}", String::from_utf8_lossy(&node.stderr));
    let stdout = String::from_utf8(node.stdout).expect("UTF-8");
    let all: Vec<Value> = ["ordinary.json", "hostile.json"].iter().flat_map(|it| cases(it)).collect();
    assert_eq!(stdout.lines().count(), all.len());
    for (case, javascript) in all.iter().zip(stdout.lines()) {
        let native = runtime.run(&input(case), TIMEOUT).expect("it ends in time");
        assert_eq!(native, javascript, "{}", case["name"]);
    }
}

#[test]
#[ignore = "needs the interpreter of scripts; `cargo xtask test` builds it"]
fn a_script_ends_at_its_deadline() {
    let runtime = runtime();
    let input =
        json!({"code": "while True:\n    pass", "now": "2026-05-04T03:02:01Z", "seed": "7", "limits": {"fuel": u64::MAX / 8}}).to_string();
    let timeout = Duration::from_millis(50);
    assert_eq!(runtime.run(&input, timeout), Err(RunError::Timeout(timeout)));
}

#[test]
#[ignore = "needs the interpreter of scripts; `cargo xtask test` builds it"]
fn limits_are_those_of_the_input() {
    let runtime = runtime();
    let run = |code: &str, limits: Value| {
        let output = run(runtime, &json!({"code": code, "now": "2026-05-04T03:02:01Z", "seed": "7", "limits": limits}).to_string());
        (output["failure"]["code"].clone(), output["logs"].clone())
    };
    assert_eq!(run("for i in range(100000):\n    pass", json!({"fuel": 1000})).0, "fuel");
    assert_eq!(run("x = [0] * 1000000", json!({"memory_bytes": 1 << 20})).0, "memory");
    assert_eq!(run("def f(n):\n    return f(n - 1) if n else 0\nf(20)", json!({"recursion": 10})).0, "exception");
    assert_eq!(run("result = 'x' * 100", json!({"output_bytes": 100})).0, "output_invalid");
    assert_eq!(run("print('abc\\ndef\\nghi')", json!({"log_lines": 2, "log_chars": 2})).1, json!(["ab", "de"]));
}

#[test]
#[ignore = "needs the interpreter of scripts; `cargo xtask test` builds it"]
fn a_failure_has_a_line_and_keeps_the_log() {
    let runtime = runtime();
    let output = run_code(runtime, "print('before')\ndef f():\n    return {}['x']\n\nf()");
    let failure = json!({"code": "exception", "message": "KeyError: x", "line": 3});
    assert_eq!(output, json!({"logs": ["before"], "failure": failure}));
    let output = run_code(runtime, "import statistics\nstatistics.mean([])");
    assert_eq!(output["failure"]["line"], 2);
}

#[test]
#[ignore = "needs the interpreter of scripts; `cargo xtask test` builds it"]
fn lines_stay_after_statements_that_are_rewritten() {
    let runtime = runtime();
    let code = "from statistics import (\n    mean,\n    median,\n)\nx = {'a': 1}\ndel x[\n    'a'\n]\n1 / 0";
    assert_eq!(run_code(runtime, code)["failure"]["line"], 9);
}

#[test]
#[ignore = "needs the interpreter of scripts; `cargo xtask test` builds it"]
fn scripts_share_nothing() {
    let runtime = runtime();
    run_code(runtime, "import math\nmath.pi = 3\nleft = 1");
    assert_eq!(run_code(runtime, "result = left")["failure"]["code"], "exception");
    assert_eq!(run_code(runtime, "import math\nresult = math.pi > 3.1")["result"], true);
}

#[test]
#[ignore = "needs the interpreter of scripts; `cargo xtask test` builds it"]
fn a_check_names_every_line_with_a_problem() {
    let runtime = runtime();
    let issues = |code: &str| {
        let output: Value = serde_json::from_str(&runtime.check(code, TIMEOUT).expect("it ends")).expect("JSON");
        output["issues"].as_array().expect("a list").iter().map(|issue| issue["line"].as_u64().expect("a line")).collect::<Vec<_>>()
    };
    assert_eq!(issues("import math, statistics\nresult = 1"), Vec::<u64>::new());
    assert_eq!(issues("x = 1\nx = ("), [2]);
    assert_eq!(issues("import os\ntry:\n    from sys import path\nexcept ImportError:\n    eval('1')"), [1, 3, 5]);
    assert_eq!(issues("x = 1\ndef f():\n    yield x"), [3]);
}

#[test]
#[ignore = "needs the interpreter of scripts; `cargo xtask test` builds it"]
fn memory_stays_flat_over_a_thousand_runs() {
    let runtime = runtime();
    let case = cases("ordinary.json").into_iter().find(|it| it["name"] == "loan").expect("the case exists");
    let input = input(&case);
    let mut times = Vec::new();
    let mut early = 0;
    for count in 0..1000 {
        let begin = Instant::now();
        run(runtime, &input);
        times.push(begin.elapsed());
        if count == 100 {
            early = resident_kilobytes();
        }
    }
    let late = resident_kilobytes();
    times.sort();
    println!("1,000 runs: p50 {:?}, p99 {:?}; {early} kB resident after 100, {late} kB after all", times[500], times[990]);
    assert!(late < early + 65_536, "{early} kB, then {late} kB");
}

/// Returns the memory of this process; zero where the system does not tell.
fn resident_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"));
    line.and_then(|size| size.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}
