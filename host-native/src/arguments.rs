//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use convengine_access::command::KeyCommand;
use convengine_project::init::Kind;
use convengine_settings::{Options, Runtime};

/// A deterministic conversation engine: server and tools.
#[derive(Debug, Clone, Parser)]
#[command(name = "convengine", version)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Global options.
    #[command(flatten)]
    pub options: Options,
}

/// The subcommands.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Make a folder with an assistant or tables, talks, settings, and files for coding assistants and editors
    Init {
        /// The folder, which is made; its name becomes the id [default: the current folder, which must be empty]
        name: Option<PathBuf>,
        /// What it holds [default: what you answer on a terminal, else assistant]
        #[arg(long, value_enum)]
        kind: Option<Kind>,
    },
    /// Run the server
    Serve {
        /// Where turns run: in this process, or on the workers of a Restate cluster
        #[arg(long, env = "CONVENGINE_RUNTIME", value_enum, default_value_t)]
        runtime: Runtime,
    },
    /// Run the server on a folder: its packs and talks are taken over at each save, and the page edits them
    Dev {
        /// The folder, whose convengine.toml is read [default: the current folder]
        folder: Option<PathBuf>,
    },
    /// Run the turns that a Restate cluster passes on
    Worker,
    /// Manage the versions of the worker that a Restate cluster calls
    Cluster {
        /// The subcommand
        #[command(subcommand)]
        command: ClusterCommand,
    },
    /// Create missing tables, columns and indexes
    Migrate,
    /// Import a pack, replacing the rows of its tables
    Import {
        /// Pack file
        pack: PathBuf,
        /// Reject packs with rows that do not compile or documents with errors
        #[arg(long)]
        strict: bool,
        /// Print the changes without applying them
        #[arg(long)]
        dry_run: bool,
        /// Print the changes as JSON
        #[arg(long, requires = "dry_run")]
        json: bool,
    },
    /// Print the configuration of the database as a pack
    Export,
    /// Print the issues of a pack, a talk or the database
    Lint {
        /// Pack or talk file, with the settings in the convengine.toml beside it [default: the database]
        pack: Option<PathBuf>,
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Report how well the phrases of a pack or flow document tell its intents apart
    Nlu {
        /// Pack, talk or flow document
        file: PathBuf,
        /// Labelled texts to classify: a JSON list of {"text", "intent"}, JSON Lines of these, or lines of a text, a tab and an intent; an
        /// intent that is empty or not in the file is out of scope
        #[arg(long, value_name = "FILE")]
        data: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Inspect and restore configuration snapshots
    Snapshot {
        /// The subcommand
        #[command(subcommand)]
        command: SnapshotCommand,
    },
    /// Manage audit records
    Audit {
        /// The subcommand
        #[command(subcommand)]
        command: AuditCommand,
    },
    /// Manage API keys
    Key {
        /// The subcommand
        #[command(subcommand)]
        command: KeyCommand,
    },
    /// Manage the sealing of stored secrets
    Secret {
        /// The subcommand
        #[command(subcommand)]
        command: SecretCommand,
    },
    /// Copy an SQLite database to a new file, also while a server runs, and print what the copy holds
    Backup {
        /// The new file
        file: PathBuf,
    },
    /// Manage the knowledge bases of assistants
    Knowledge {
        /// The subcommand
        #[command(subcommand)]
        command: KnowledgeCommand,
    },
    /// Delete conversations and all their data
    Forget {
        /// Conversation to delete
        #[arg(long, value_name = "ID", required_unless_present = "person", conflicts_with = "person")]
        conversation: Option<String>,
        /// Delete all conversations that hold this value, by name or by path such as customer.id; if repeated, all must match
        #[arg(long, value_name = "NAME=VALUE", value_parser = convengine_turns::forget::parse_member)]
        person: Vec<(String, String)>,
    },
    /// Delete data older than convengine.retention allows
    Retention,
    /// Replay a stored conversation from its journals
    Replay {
        /// Conversation to replay
        #[arg(long, value_name = "ID")]
        conversation: String,
        /// Compare with the behavior of this pack's configuration
        #[arg(long, value_name = "PACK")]
        config: Option<PathBuf>,
    },
    /// Print the journals of a stored conversation and a pack of each configuration it ran on
    Journal {
        /// Conversation to print
        #[arg(long, value_name = "ID")]
        conversation: String,
    },
    /// Print the JSON Schema of a kind of file
    Schema {
        /// Name of the schema: `pack` or `flow`
        name: String,
    },
    /// Serve the Model Context Protocol on standard input and output
    Mcp,
    /// Write the text of the document on standard input, for the process that starts this one
    #[command(hide = true)]
    ReadDocument {
        /// Format of the document
        format: String,
        /// Character set that its sender declares
        #[arg(long)]
        charset: Option<String>,
    },
    /// Talk with a pack without a server: each line of standard input is a message, as it is after `>` in a talk
    Chat(ChatArguments),
    /// Play packs and talks and compare the results with their expectations
    Test(TestArguments),
}

/// Cluster commands, by the administration interface at `convengine.restate.admin`.
#[derive(Debug, Clone, Subcommand)]
pub enum ClusterCommand {
    /// List versions of the worker, oldest first, with the turns and effects that have begun on them
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Begin new turns on the workers at an address
    Register {
        /// Address of the workers, such as http://10.0.0.9:9080; each version needs its own
        #[arg(value_name = "URL", value_parser = convengine_settings::parse_server_url)]
        address: String,
    },
    /// Remove versions that are drained: new turns begin elsewhere, and those that began there have ended
    Remove {
        /// Id of the version [default: all that are drained]
        id: Option<String>,
    },
}

/// Snapshot commands. A unique prefix of a hash, at least eight digits, is enough.
#[derive(Debug, Clone, Subcommand)]
pub enum SnapshotCommand {
    /// List snapshots, newest first
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Print a snapshot as a pack
    Show {
        /// Snapshot hash or a unique prefix of at least eight digits
        hash: String,
    },
    /// Print how a snapshot differs from the current configuration or another snapshot
    Diff {
        /// Hash of the first snapshot
        hash: String,
        /// Hash of the second snapshot [default: the current configuration]
        other: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Restore the configuration of a snapshot
    Activate {
        /// Snapshot hash or a unique prefix of at least eight digits
        hash: String,
        /// Print the changes without applying them
        #[arg(long)]
        dry_run: bool,
        /// Print the changes as JSON
        #[arg(long)]
        json: bool,
    },
    /// Restore the previous configuration; repeat to go further back
    Rollback {
        /// Print the changes without applying them
        #[arg(long)]
        dry_run: bool,
        /// Print the changes as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Audit commands.
#[derive(Debug, Clone, Subcommand)]
pub enum AuditCommand {
    /// Store derived audit rows, where `convengine.audit.persistence.mode` is DERIVED
    Materialise {
        /// Only turns received at or after this time, such as 2026-01-31 or 2026-01-31T09:00:00Z
        #[arg(long, value_name = "TIME")]
        from: Option<String>,
        /// Only turns received before this time
        #[arg(long, value_name = "TIME")]
        to: Option<String>,
    },
}

/// Knowledge base commands.
#[derive(Debug, Clone, Subcommand)]
pub enum KnowledgeCommand {
    /// Add files as sources, replacing those with the same ids
    Add {
        /// Text, Markdown, HTML or PDF files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Assistant that searches them
        #[arg(long, value_name = "ID")]
        assistant: String,
        /// Id of the source [default: the file name without its extension]
        #[arg(long, value_name = "ID")]
        id: Option<String>,
        /// Title in citations [default: that of the document, else the file name]
        #[arg(long)]
        title: Option<String>,
        /// Address where users find the document
        #[arg(long)]
        url: Option<String>,
        /// Language of the text [default: the default locale of the assistant]
        #[arg(long)]
        locale: Option<String>,
        /// Character set of the files [default: what a file declares, else UTF-8]
        #[arg(long, value_name = "NAME")]
        charset: Option<String>,
    },
    /// List the sources of an assistant
    List {
        /// The assistant
        #[arg(long, value_name = "ID")]
        assistant: String,
    },
    /// Remove a source
    Remove {
        /// Id of the source
        source: String,
        /// Assistant that searches it
        #[arg(long, value_name = "ID")]
        assistant: String,
    },
    /// Search by keywords and print the best passages with their confidence
    Search {
        /// The question
        query: String,
        /// Assistant whose sources are searched
        #[arg(long, value_name = "ID")]
        assistant: String,
    },
}

/// Secret commands.
#[derive(Debug, Clone, Subcommand)]
pub enum SecretCommand {
    /// Seal all stored secrets with the first key of convengine.secrets-key, or with a new key in the file beside an SQLite database
    Rotate,
}

/// Arguments of `convengine chat`.
#[derive(Debug, Clone, Args)]
pub struct ChatArguments {
    /// Pack, talk or document, with the settings in the convengine.toml beside it [default: the pack of the current folder]
    pub file: Option<PathBuf>,
    /// Print each answer as a JSON object, with what the paths of talks read
    #[arg(long)]
    pub json: bool,
    /// Print after each answer what the engine decided: decisions, nodes, calls and values
    #[arg(long)]
    pub why: bool,
    /// When the first message is sent, such as 2026-01-31T09:00:00Z; each further one is sent a minute later [default: now]
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
    /// Save what is said as a talk in this new file, for `convengine test`
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
}

/// Arguments of `convengine test`.
#[derive(Debug, Clone, Args)]
pub struct TestArguments {
    /// Pack and talk files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write a JUnit report
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Print what the engine decided in each turn that fails: decisions, nodes, calls and values
    #[arg(long)]
    pub trace: bool,
    /// Read rules from this file that explain differences from recordings
    #[arg(long = "explained-by", alias = "explained", value_name = "FILE")]
    pub explained: Option<PathBuf>,
}
