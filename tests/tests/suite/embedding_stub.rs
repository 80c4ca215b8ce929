//! A provider of embeddings.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use convengine_tests::retrieval::embed;
use serde_json::{Value, json};

use crate::harness::{REGEX_ONLY, SERVE, Server, TestEnv};

/// A call of the stub.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbedCall {
    pub path: String,
    pub model: String,
    pub texts: Vec<String>,
}

/// A provider of embeddings with the routes of OpenAI and Ollama.
pub struct EmbeddingStub {
    address: String,
    calls: Arc<Mutex<Vec<EmbedCall>>>,
    pub is_down: Arc<AtomicBool>,
}

impl EmbeddingStub {
    pub fn start() -> EmbeddingStub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let stub = EmbeddingStub { address, calls: Arc::default(), is_down: Arc::default() };
        let (calls, is_down) = (Arc::clone(&stub.calls), Arc::clone(&stub.is_down));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (calls, is_down) = (Arc::clone(&calls), Arc::clone(&is_down));
                thread::spawn(move || exchange(stream.unwrap(), &calls, is_down.load(Ordering::SeqCst)));
            }
        });
        stub
    }

    /// Serves the knowledge bases of an environment with this model for embeddings.
    pub fn serve(&self, env: &TestEnv, model: &str) -> Server {
        self.serve_with(env, model, &[])
    }

    /// Serves with further arguments.
    pub fn serve_with(&self, env: &TestEnv, model: &str, more: &[&str]) -> Server {
        let arguments = [&SERVE[..], &REGEX_ONLY, &["--llm", model], more].concat();
        let mut command = env.command(&arguments);
        let command = command.env("OPENAI_BASE_URL", format!("{}/v1", self.address)).env("OPENAI_API_KEY", "sk-suite-0123456789abcdef");
        env.start(command.env("OLLAMA_HOST", &self.address))
    }

    /// Returns the calls since the last time.
    pub fn take_calls(&self) -> Vec<EmbedCall> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }
}

fn exchange(mut stream: TcpStream, calls: &Mutex<Vec<EmbedCall>>, is_down: bool) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let mut line = String::new();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "the call has no complete head: {head}");
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let call: Value = serde_json::from_slice(&body).unwrap();
    let path = head.split(' ').nth(1).unwrap().to_owned();
    let (model, texts): (String, Vec<String>) =
        (serde_json::from_value(call["model"].clone()).unwrap(), serde_json::from_value(call["input"].clone()).unwrap());
    let vectors: Vec<Vec<f32>> = texts.iter().map(|it| embed_with(&model, it)).collect();
    let answer = match path.as_str() {
        "/v1/embeddings" => {
            let row = |(index, vector): (usize, &Vec<f32>)| json!({"index": index, "embedding": vector});
            json!({"data": vectors.iter().enumerate().rev().map(row).collect::<Vec<_>>()})
        }
        "/api/embed" => json!({"embeddings": vectors}),
        other => panic!("unknown route {other}"),
    };
    let (status, answer) = if is_down { (400, json!({"error": {"message": "the model is being moved"}})) } else { (200, answer) };
    calls.lock().unwrap().push(EmbedCall { path, model, texts });
    let answer = answer.to_string();
    let head = format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close", answer.len());
    write!(stream, "{head}\r\n\r\n{answer}").unwrap();
}

/// The embeddings of `small` have fewer dimensions.
pub fn embed_with(model: &str, text: &str) -> Vec<f32> {
    let mut vector = embed(text);
    vector.truncate(if model == "small" { 256 } else { usize::MAX });
    vector
}
