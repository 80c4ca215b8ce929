//! `convengine knowledge`: adds, lists, removes and searches the sources of a knowledge base.

use std::path::{Path, PathBuf};

use convengine_content::knowledge::directory::DirectoryCache;
use convengine_content::knowledge::document::{Document, DocumentFormat, MAX_DOCUMENT_BYTES, is_source_id};
use convengine_content::knowledge::indexing::{default_locale, delete_source, put_and_index};
use convengine_content::knowledge::search::Searcher;
use convengine_core::knowledge::Source;
use convengine_core::turn::KnowledgeRequest;
use convengine_host_base::exit::Failure;
use convengine_host_base::print_line;
use convengine_settings::Settings;
use convengine_storage::assistant::draft;
use convengine_storage::assistant::knowledge::source;
use convengine_storage::{self as storage, Pool};

use crate::arguments::KnowledgeCommand;

/// The number of passages that a search prints.
const TOP_K: u32 = 5;

/// What `knowledge add` sets for the sources of its files.
#[derive(Debug, Clone, Default)]
struct SourceOptions {
    id: Option<String>,
    title: Option<String>,
    url: Option<String>,
    locale: Option<String>,
    charset: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// Exit code 1 for an unknown assistant or source or an unreadable file, 2 for invalid arguments, 3 if the database is unavailable.
pub async fn run(settings: &Settings, command: KnowledgeCommand) -> Result<(), Failure> {
    let database = &settings.database;
    storage::connect_existing(database).await?.close().await.map_err(|it| storage::database_failure(database, &it))?;
    let pool = storage::open_reader_pool(database).await?;
    let result = match command {
        KnowledgeCommand::Add { files, assistant, id, title, url, locale, charset } => {
            add(settings, &pool, &files, &assistant, &SourceOptions { id, title, url, locale, charset }).await
        }
        KnowledgeCommand::List { assistant } => list(settings, &pool, &assistant).await,
        KnowledgeCommand::Remove { source, assistant } => remove(settings, &assistant, &source).await,
        KnowledgeCommand::Search { query, assistant } => search(settings, &pool, query, assistant).await,
    };
    pool.close().await;
    result
}

async fn add(settings: &Settings, pool: &Pool, files: &[PathBuf], assistant: &str, options: &SourceOptions) -> Result<(), Failure> {
    if files.len() > 1 && (options.id.is_some() || options.title.is_some() || options.url.is_some()) {
        return Err(Failure::invalid_usage("--id, --title and --url describe one file; add the files one by one".to_owned()));
    }
    let unusable = |it: sqlx::Error| storage::database_failure(&settings.database, &it);
    let document = find_document(settings, pool, assistant).await?;
    let locale = options.locale.clone().unwrap_or_else(|| default_locale(&document));
    // All files are read before the first one is stored.
    let mut sources = Vec::with_capacity(files.len());
    for file in files {
        let source = read_file(file, options, &locale).await;
        sources.push(source.map_err(|reason| Failure::check_failed(vec![format!("{}: {reason}", file.display())]))?);
    }
    for source in sources {
        let id = source.id.clone();
        put_and_index(&settings.database, assistant, source).await.map_err(unusable)?;
        let stored = source::find(pool, assistant, &id).await.map_err(unusable)?;
        let chunks = stored.as_ref().map_or(0, |it| it.chunks);
        let loss = stored.and_then(|it| it.describe_unreadable()).map(|it| format!(" (partial: {it})")).unwrap_or_default();
        print_line!("{id}: {chunks} {}{loss}", if chunks == 1 { "chunk" } else { "chunks" });
    }
    Ok(())
}

async fn read_file(file: &Path, options: &SourceOptions, locale: &str) -> Result<Source, String> {
    let extension = file.extension().and_then(|it| it.to_str()).unwrap_or_default();
    let format = DocumentFormat::from_extension(extension)
        .ok_or("unknown format; use a file with the extension .txt, .md, .html or .pdf".to_owned())?;
    let size = std::fs::metadata(file).map_err(|it| format!("cannot be read: {it}"))?.len();
    if size > MAX_DOCUMENT_BYTES as u64 {
        return Err(format!("too large; split it into files of at most {MAX_DOCUMENT_BYTES} bytes"));
    }
    let bytes = std::fs::read(file).map_err(|it| format!("cannot be read: {it}"))?;
    let name = file.file_stem().and_then(|it| it.to_str()).unwrap_or_default().to_owned();
    let id = options.id.clone().unwrap_or_else(|| name.clone());
    if !is_source_id(&id) {
        return Err(format!("'{id}' is not a source id; set --id to up to 128 characters without commas"));
    }
    let converted = Document { format, bytes, charset: options.charset.clone() }.convert().await?;
    if converted.text.trim().is_empty() {
        return Err("has no text".to_owned());
    }
    let title = options.title.clone().or(converted.title).unwrap_or(name);
    let (text, format, unreadable_pages) = (converted.text, converted.format, converted.unreadable_pages);
    Ok(Source { id, title, text, url: options.url.clone(), locale: locale.to_owned(), format, unreadable_pages })
}

async fn list(settings: &Settings, pool: &Pool, assistant: &str) -> Result<(), Failure> {
    find_document(settings, pool, assistant).await?;
    let rows = source::list(pool, assistant).await.map_err(|it| storage::database_failure(&settings.database, &it))?;
    for row in rows {
        let loss = row.describe_unreadable();
        let reason = row.error.or(loss).or(row.embedding_error).map(|it| format!(" ({it})")).unwrap_or_default();
        let model = row.embedding_model.map(|it| format!(" embedded={it}")).unwrap_or_default();
        print_line!(
            "{} {} chunks={} locale={}{model} {}{reason}",
            row.source.id,
            row.status,
            row.chunks,
            row.source.locale,
            row.source.title
        );
    }
    Ok(())
}

async fn remove(settings: &Settings, assistant: &str, id: &str) -> Result<(), Failure> {
    let existed = delete_source(&settings.database, assistant, id).await;
    if existed.map_err(|it| storage::database_failure(&settings.database, &it))? {
        print_line!("{id}: removed");
        return Ok(());
    }
    Err(Failure::nothing_found(format!("{id}: knowledge source not found; see `convengine knowledge list`")))
}

/// Searches by keywords, which needs no model.
async fn search(settings: &Settings, pool: &Pool, query: String, assistant: String) -> Result<(), Failure> {
    find_document(settings, pool, &assistant).await?;
    let request = KnowledgeRequest { assistant, program: None, sources: None, query, top_k: TOP_K, vector_weight: 0.0 };
    let directories = DirectoryCache::default();
    let found = Searcher::by_keyword(pool, &directories).search(&request).await;
    let reply = found.map_err(|it| storage::database_failure(&settings.database, &it))?;
    for (place, passage) in reply.fuse(request.vector_weight).iter().zip(&reply.passages) {
        let text: String = passage.text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(160).collect();
        print_line!("{:.3} {} {}\n      {text}", place.conf, passage.chunk, passage.title);
    }
    Ok(())
}

/// Returns the draft of an assistant.
async fn find_document(settings: &Settings, pool: &Pool, assistant: &str) -> Result<String, Failure> {
    let found = draft::find(pool, assistant).await.map_err(|it| storage::database_failure(&settings.database, &it))?;
    let unknown = || Failure::check_failed(vec![format!("{assistant}: assistant not found; import a pack with its document first")]);
    found.map(|it| it.document).ok_or_else(unknown)
}
