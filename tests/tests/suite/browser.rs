//! The page in a real Chromium, with the network off once it has loaded: the same bytes as in the core.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use convengine_player::{CorePlayer, Suspend};
use convengine_test_macros::test;
use convengine_tests::{Case, demo, flows, root, server_binary, talk};
use reqwest::Method;
use reqwest::blocking::Response;
use serde_json::Value;

use crate::harness::client;

const PACKS: [&str; 5] = ["help_desk.json", "loan.json", "card_replacement.json", "model_acts.json", "rule_lab.json"];

/// A talk whose model is slow and fails, so that its replies, times and failures go through the page.
const TALK: &str = "hotel_by_the_lake";

struct PageServer(Child);

impl Drop for PageServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The server with the embedded page and a temporary database file.
fn serve() -> (PageServer, String, PathBuf) {
    static SERVERS: AtomicU32 = AtomicU32::new(0);
    let number = SERVERS.fetch_add(1, Ordering::Relaxed);
    let file = std::env::temp_dir().join(format!("convengine-browser-{}-{number}.db", std::process::id()));
    let mut command = Command::new(server_binary().unwrap());
    command.args(["serve", "--listen", "127.0.0.1:0", "--database"]).arg(format!("sqlite:{}", file.display()));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("convengine listening on ").expect("the server did not start").to_owned();
    (PageServer(child), address, file)
}

fn core_hashes(case: &Case) -> Vec<String> {
    let mut player = CorePlayer::new(&case.pack, Suspend::Never);
    (0..case.pack.turns.len()).map(|turn| player.play(turn).unwrap().hash).collect()
}

/// Writes a talk as the equivalent pack into a temporary file, because the page reads only packs.
fn write_as_pack(name: &str, talk: Case) -> Case {
    let Case { pack, .. } = talk;
    let path = std::env::temp_dir().join(format!("convengine-{}-{name}.json", std::process::id()));
    fs::write(&path, serde_json::to_string(&pack).unwrap()).unwrap();
    Case { path, pack }
}

/// The files of the built page below a folder, without their compressed forms.
fn page_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("the page is not built; run `cargo xtask page` first") {
        let path = entry.unwrap().path();
        match path.extension().and_then(|it| it.to_str()) {
            _ if path.is_dir() => files.extend(page_files(&path)),
            Some("br" | "gz") => {}
            _ => files.push(path),
        }
    }
    files
}

#[test]
#[on(browser)]
fn the_page_is_served_in_its_precompressed_forms() {
    let (server, address, database) = serve();
    let dist = root().join("web-demo/dist");
    let client = client();
    let call = |method: Method, path: &str, headers: &[(&str, &str)]| {
        let mut call = client.request(method, format!("{address}{path}"));
        for (name, value) in headers {
            call = call.header(*name, *value);
        }
        call.send().unwrap()
    };
    let header = |response: &Response, name: &str| response.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
    let (mut kinds, mut forms) = (BTreeMap::new(), Vec::new());
    for file in page_files(&dist) {
        let name = file.strip_prefix(&dist).unwrap().to_str().unwrap();
        let extension = file.extension().unwrap().to_str().unwrap().to_owned();
        let path = format!("/{name}");
        for (list, encoding, form) in [("gzip, deflate, br", "br", ".br"), ("gzip, br;q=0", "gzip", ".gz"), ("identity", "", "")] {
            let file_path = dist.join(format!("{name}{form}"));
            if !file_path.exists() {
                assert!(!["html", "js", "css", "wasm"].contains(&extension.as_str()), "{name} has no {form}");
                continue;
            }
            let bytes = fs::read(&file_path).unwrap();
            for method in [Method::HEAD, Method::GET] {
                let answer = call(method.clone(), &path, &[("Accept-Encoding", list)]);
                assert_eq!((answer.status().as_u16(), header(&answer, "content-encoding").as_str()), (200, encoding), "{path} {list}");
                assert_eq!(header(&answer, "content-length"), bytes.len().to_string(), "{method} {path} {list}");
                assert!(answer.headers().get_all("vary").iter().any(|it| it == "accept-encoding"), "{path} {list}");
                let cache_control = if path.starts_with("/assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
                assert_eq!(header(&answer, "cache-control"), cache_control, "{path}");
                kinds.insert(extension.clone(), header(&answer, "content-type"));
                let tag = header(&answer, "etag");
                let body = if method == Method::GET { bytes.clone() } else { Vec::new() };
                assert!(answer.bytes().unwrap() == body, "{method} {path} {list}");
                let again = call(method, &path, &[("Accept-Encoding", list), ("If-None-Match", &tag)]);
                assert_eq!((again.status().as_u16(), header(&again, "etag")), (304, tag), "{path} {list}");
            }
            forms.push(file_path);
        }
        assert_eq!(call(Method::GET, &format!("{path}.br"), &[]).status(), 404, "a compressed form is not a file of its own");
    }
    drop(server);
    let _ = fs::remove_file(database);
    let content_type = |extension: &str| kinds.get(extension).map(String::as_str);
    assert_eq!(
        (content_type("html"), content_type("js"), content_type("css"), content_type("wasm")),
        (Some("text/html"), Some("text/javascript"), Some("text/css"), Some("application/wasm"))
    );
    let script = "const {readFileSync: r} = require('fs'), z = require('zlib'); for (const f of process.argv.slice(1)) {
        const whole = f.endsWith('.br') ? z.brotliDecompressSync(r(f)) : f.endsWith('.gz') ? z.gunzipSync(r(f)) : r(f);
        if (!whole.equals(r(f.replace(/[.](br|gz)$/, '')))) throw new Error(f); }";
    let output = Command::new("node").args(["-e", script]).args(&forms).output().expect("cannot start node");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[on(browser)]
fn packs_and_a_talk_have_the_same_hashes_as_in_the_core() {
    let (server, address, file) = serve();
    let mut cases: Vec<Case> = PACKS.iter().map(|pack| demo(pack).unwrap()).collect();
    let mut written = vec![write_as_pack(TALK, talk(&format!("{TALK}.talk")).unwrap())];
    // Packs for another player.
    written.extend(flows().unwrap().into_iter().map(|flow| write_as_pack(&flow.pack.name.clone(), flow)));
    assert!(written.len() > 60, "only {} talks", written.len());
    cases.extend(written.iter().cloned());
    let mut command = Command::new("node");
    command.arg(root().join("web-demo/test/browser.mjs")).arg(&address).args(cases.iter().map(|it| &it.path));
    let output = command.output().expect("cannot start node");
    drop(server);
    let _ = fs::remove_file(file);
    for case in &written {
        let _ = fs::remove_file(&case.path);
    }
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<Value> = printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let found: BTreeMap<&str, &Value> = lines.iter().filter_map(|line| Some((line["pack"].as_str()?, &line["hashes"]))).collect();
    for case in &cases {
        let name = case.path.file_name().unwrap().to_str().unwrap();
        let hashes = found.get(name).unwrap_or_else(|| panic!("the page did not play {name}: {printed}"));
        assert_eq!(**hashes, serde_json::json!(core_hashes(case)), "{name}");
    }
    let reply = lines.iter().find_map(|it| it["chat"].as_str()).expect("the page did not answer a typed message");
    assert!(!reply.trim().is_empty());
}
