//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// The conversation engine's server and its tools.
#[derive(Debug, Clone, Parser)]
#[command(name = "convengine", version)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Options of every command.
    #[command(flatten)]
    pub options: Options,
}

/// Options that are also environment variables; all but `--settings` may stand in the settings file.
#[derive(Debug, Clone, Default, Args)]
pub struct Options {
    /// The database, `sqlite:PATH` [default: sqlite:convengine.db]
    #[arg(long, global = true, env = "CONVENGINE_DATABASE", value_name = "ADDRESS")]
    pub database: Option<String>,
    /// The tenant whose database a command is about, where there are tenants
    #[arg(long, global = true, env = "CONVENGINE_TENANT", value_name = "NAME")]
    pub tenant: Option<String>,
    /// Where to listen [default: 127.0.0.1:8080]
    #[arg(long, global = true, env = "CONVENGINE_LISTEN", value_name = "HOST:PORT")]
    pub listen: Option<String>,
    /// A TOML file with `database`, `listen`, `llm` and the tree `convengine`, or an application.yml with that tree
    #[arg(long, global = true, env = "CONVENGINE_SETTINGS", value_name = "FILE")]
    pub settings: Option<PathBuf>,
    /// Who answers model calls: `scripted:FILE`, `openai[:MODEL]`, `anthropic[:MODEL]`, `ollama:MODEL` or `off`, for some calls alone
    /// as `PURPOSE=MODEL`; may be repeated: several for the same calls are asked in turn until one answers. Keys and addresses are
    /// taken from OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL, ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_MODEL and
    /// OLLAMA_HOST [env: CONVENGINE_LLM, separated by commas or one a line] [default: off]
    #[arg(long, global = true, value_name = "[PURPOSE=]MODEL")]
    pub llm: Vec<String>,
    /// A `convengine.*` setting; may be repeated [env: CONVENGINE_SET, one a line]
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// The commands.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Runs the server
    Serve,
    /// Creates what is missing in the database
    Migrate,
    /// Replaces the rows of the tables that a pack names
    Import {
        /// The pack
        pack: PathBuf,
        /// Refuses a pack with rows that do not compile, or with a document that has an error
        #[arg(long)]
        strict: bool,
        /// Prints what would change, and changes nothing
        #[arg(long)]
        dry_run: bool,
        /// Prints it as JSON
        #[arg(long, requires = "dry_run")]
        json: bool,
    },
    /// Prints the rows of the database as a pack
    Export,
    /// Prints the issues of a pack, of the pack of a talk, or of the database
    Lint {
        /// The pack or talk; without it the database is read
        pack: Option<PathBuf>,
        /// Prints a JSON array
        #[arg(long)]
        json: bool,
    },
    /// The configurations that have been
    Snapshot {
        /// What to do
        #[command(subcommand)]
        command: SnapshotCommand,
    },
    /// What becomes of audit rows
    Audit {
        /// What to do
        #[command(subcommand)]
        command: AuditCommand,
    },
    /// The keys of those who may call
    Key {
        /// What to do
        #[command(subcommand)]
        command: KeyCommand,
    },
    /// Lets go of conversations, with everything that is stored of them
    Forget {
        /// A conversation
        #[arg(long, value_name = "ID", required_unless_present = "person", conflicts_with = "person")]
        conversation: Option<String>,
        /// All conversations whose stored input parameters have this member; of several, all of them
        #[arg(long, value_name = "NAME=VALUE", value_parser = crate::forget::member)]
        person: Vec<(String, String)>,
    },
    /// Takes away now what is older than convengine.retention says
    Retention,
    /// Runs a stored conversation again from its journals
    Replay {
        /// The conversation
        #[arg(long, value_name = "ID")]
        conversation: String,
        /// Compares with what this pack's configuration would do
        #[arg(long, value_name = "PACK")]
        config: Option<PathBuf>,
    },
    /// Prints the journals of a stored conversation, and a pack of each configuration that it ran under
    Journal {
        /// The conversation
        #[arg(long, value_name = "ID")]
        conversation: String,
    },
    /// Plays packs and talks and compares with what they expect
    Test(TestArguments),
}

/// The commands about snapshots. The first eight digits of a hash are enough where no other one begins with them.
#[derive(Debug, Clone, Subcommand)]
pub enum SnapshotCommand {
    /// Prints which there are, the newest first
    List {
        /// Prints a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Prints one as a pack
    Show {
        /// Its hash
        hash: String,
    },
    /// Prints how one differs from the rows that are there now, or from another one
    Diff {
        /// The hash of the first
        hash: String,
        /// The hash of the second [default: the rows that are there now]
        other: Option<String>,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Puts the rows of one back into the tables
    Activate {
        /// Its hash
        hash: String,
        /// Prints what would change, and changes nothing
        #[arg(long)]
        dry_run: bool,
        /// Prints the change as JSON
        #[arg(long)]
        json: bool,
    },
    /// Puts the rows back that were there before; once more, those before them
    Rollback {
        /// Prints what would change, and changes nothing
        #[arg(long)]
        dry_run: bool,
        /// Prints the change as JSON
        #[arg(long)]
        json: bool,
    },
}

/// The commands about audit rows.
#[derive(Debug, Clone, Subcommand)]
pub enum AuditCommand {
    /// Stores the audit rows that are derived so far, where `convengine.audit.persistence.mode` is DERIVED
    Materialise {
        /// Only of messages that came in then or later, such as 2026-01-31 or 2026-01-31T09:00:00Z
        #[arg(long, value_name = "TIME")]
        from: Option<String>,
        /// Only of messages that came in before then
        #[arg(long, value_name = "TIME")]
        to: Option<String>,
    },
}

/// The commands about keys.
#[derive(Debug, Clone, Subcommand)]
pub enum KeyCommand {
    /// Makes a key and prints it, once
    Create {
        /// What the key is for
        #[arg(long)]
        name: String,
        /// What it may do: `converse`, `read`, `admin`, separated by commas
        #[arg(long, value_name = "SCOPES")]
        scope: String,
        /// How long it counts, such as 90d [default: until it is revoked]
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
    },
    /// Prints the keys, without their secrets
    List,
    /// Lets a key not count any more
    Revoke {
        /// The key's id, the first part of it after the tenant
        id: String,
    },
}

/// What `convengine test` plays.
#[derive(Debug, Clone, Args)]
pub struct TestArguments {
    /// Packs and talks
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Writes a JUnit report
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// The list of explained differences
    #[arg(long, value_name = "FILE")]
    pub explained: Option<PathBuf>,
}
