//! Commands of MCP servers that run as child processes: `convengine.mcp.servers`.

use std::collections::BTreeMap;

use super::groups::groups;
use super::value::{Text, list, problem, scalar};

/// How the text of an environment variable names a secret.
const SECRET_PREFIX: &str = "secret:";

/// Commands of MCP servers by key. Rows never name a command.
pub type McpCommands = BTreeMap<String, McpCommand>;

/// The command of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpCommand {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment beside `PATH` and `HOME`; it gets no other variable.
    pub env: BTreeMap<String, EnvValue>,
    /// Its working directory, if not that of the server.
    pub cwd: Option<String>,
}

/// The value of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvValue {
    /// As written.
    Plain(String),
    /// The secret of this name, written `secret:NAME`.
    Secret(String),
}

groups! {
    /// `mcp.servers.NAME.*`
    pub(super) struct McpServerTree {
        command: Vec<String> as "list",
        env: BTreeMap<String, Text>,
        cwd: Option<String> as "scalar",
    }
}

/// Reads the commands.
pub(super) fn read(servers: BTreeMap<String, McpServerTree>, problems: &mut Vec<String>) -> McpCommands {
    let mut commands = McpCommands::new();
    for (name, tree) in servers {
        let Some((program, args)) = tree.command.split_first() else {
            let reason = "the server has no command; set a list such as [\"npx\", \"-y\", \"PACKAGE\"]";
            problems.push(problem(format_args!("mcp.servers.{name}.command"), reason));
            continue;
        };
        if program.starts_with('[') {
            let reason = "the list is not valid JSON; set a list such as [\"npx\", \"-y\", \"PACKAGE\"]";
            problems.push(problem(format_args!("mcp.servers.{name}.command"), reason));
            continue;
        }
        if let Some(folder) = tree.cwd.as_ref().filter(|folder| !std::path::Path::new(folder).is_dir()) {
            problems.push(problem(
                format_args!("mcp.servers.{name}.cwd"),
                format_args!("'{folder}' is not a directory; create it or set another"),
            ));
        }
        for (variable, text) in &tree.env {
            if variable.is_empty() || variable.contains(['=', '\0']) || text.0.trim() == SECRET_PREFIX {
                let reason = "not a variable with a value; set a string or secret:NAME";
                problems.push(problem(format_args!("mcp.servers.{name}.env.{variable}"), reason));
            }
        }
        let value = |text: String| match text.strip_prefix(SECRET_PREFIX) {
            Some(name) => EnvValue::Secret(name.to_owned()),
            None => EnvValue::Plain(text),
        };
        let env = tree.env.into_iter().map(|(name, text)| (name, value(text.0))).collect();
        commands.insert(name, McpCommand { program: program.clone(), args: args.to_vec(), env, cwd: tree.cwd });
    }
    commands
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tree::read_test_tree;
    use super::*;

    fn read_commands(servers: &Value) -> (McpCommands, Vec<String>) {
        let (tree, mut problems) = read_test_tree(&json!({"mcp": {"servers": servers}}));
        let commands = read(tree.mcp.servers, &mut problems);
        (commands, problems)
    }

    #[test]
    fn a_command_has_arguments_and_an_environment() {
        let (commands, problems) = read_commands(&json!({"files": {
            "command": ["npx", "server", "/a,b"], "env": {"LEVEL": "info", "TOKEN": "secret:files-token"}, "cwd": "/"
        }}));
        let env = [("LEVEL", EnvValue::Plain("info".to_owned())), ("TOKEN", EnvValue::Secret("files-token".to_owned()))];
        let expected = McpCommand {
            program: "npx".to_owned(),
            args: vec!["server".to_owned(), "/a,b".to_owned()],
            env: env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            cwd: Some("/".to_owned()),
        };
        assert_eq!((commands.get("files"), problems), (Some(&expected), Vec::new()));
    }

    #[test]
    fn a_server_without_a_command_is_a_problem() {
        let (commands, problems) = read_commands(&json!({"a": {"cwd": "/srv"}}));
        assert!(commands.is_empty());
        assert_eq!(
            problems,
            [r#"convengine.mcp.servers.a.command: the server has no command; set a list such as ["npx", "-y", "PACKAGE"]"#]
        );
        for wrong in [
            json!({"command": ["x"], "comand": 1}),
            json!({"command": "[\"npx\", \"-y\""}),
            json!({"command": ["x"], "cwd": "/no/such/folder"}),
            json!({"command": ["x"], "env": {"A=B": "c"}}),
            json!({"command": ["x"], "env": {"A": "secret:"}}),
        ] {
            assert_eq!(read_commands(&json!({"a": wrong})).1.len(), 1, "{wrong}");
        }
    }
}
