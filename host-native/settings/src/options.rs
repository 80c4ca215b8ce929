//! The options of all commands.

use std::path::PathBuf;

use clap::Args;

/// Global options, also settable as environment variables and, except `--settings`, in the settings file.
#[derive(Debug, Clone, Default, Args)]
pub struct Options {
    /// Database URL: `sqlite:PATH` or `postgres://…` [default: sqlite:convengine.db]
    #[arg(long, global = true, env = "CONVENGINE_DATABASE", value_name = "ADDRESS")]
    pub database: Option<String>,
    /// Tenant whose database the command uses, if tenants are configured
    #[arg(long, global = true, env = "CONVENGINE_TENANT", value_name = "NAME")]
    pub tenant: Option<String>,
    /// Address to listen on [default: 127.0.0.1:8080]
    #[arg(long, global = true, env = "CONVENGINE_LISTEN", value_name = "HOST:PORT")]
    pub listen: Option<String>,
    /// Settings file: TOML with `database`, `listen`, `llm` and the `convengine` tree, or an application.yml with that tree
    #[arg(long, global = true, env = "CONVENGINE_SETTINGS", value_name = "FILE")]
    pub settings: Option<PathBuf>,
    /// Model provider: `scripted:FILE`, `openai[:MODEL]`, `anthropic[:MODEL]`, `ollama:MODEL`, `NAME[:MODEL]` of
    /// convengine.llm.providers or `off`; prefix with `PURPOSE=` to use it for one kind of call only. May be repeated: providers for the same calls are tried in order. Keys and addresses are read from
    /// OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL, ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_MODEL and OLLAMA_HOST
    /// [env: CONVENGINE_LLM, separated by commas or newlines] [default: off]
    #[arg(long, global = true, value_name = "[PURPOSE=]MODEL")]
    pub llm: Vec<String>,
    /// A `convengine.*` setting; may be repeated [env: CONVENGINE_SET, one per line]
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}
