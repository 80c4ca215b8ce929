//! Builds the book from `docs`: pages for browsers, the same pages in Markdown, and `llms.txt` for readers that are programs.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use mdbook_driver::MDBook;
use mdbook_driver::book::BookItem;

use crate::dist::sha256;

/// What the server calls the folder of the book.
const FOLDER: &str = "docs";

/// The folder of the book with copies of files outside the documentation that it cites.
const OUTSIDE: &str = "files";

/// The list of the chapters alone, for browsers without scripts.
const LIST_OF_CHAPTERS: &str = "toc.html";

/// What the template of mdBook has, and what takes its place, so that each part of a page is within a landmark and has a name.
const LANDMARKS: [(&str, &str); 3] = [
    ("<div id=\"mdbook-menu-bar\" class=\"menu-bar sticky\">", "<div id=\"mdbook-menu-bar\" class=\"menu-bar sticky\" role=\"banner\">"),
    ("<div id=\"mdbook-search-wrapper\" class=\"hidden\">", "<div id=\"mdbook-search-wrapper\" class=\"hidden\" role=\"search\">"),
    (" aria-describedby=\"searchresults-header\"", " aria-label=\"Search this book\" aria-describedby=\"mdbook-searchresults-header\""),
];

/// Builds the book into an empty folder.
pub fn build(sources: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to).with_context(|| format!("cannot empty '{}'", to.display()))?;
    }
    let mut book = MDBook::load(sources)?;
    book.config.build.build_dir = std::path::absolute(to)?;
    book.build()?;
    // What only other servers read, and sources of the book that are copied beside what is made of them.
    for name in [".nojekyll", "404.html", "book.toml", "theme/accessibility.css", "theme/accessibility.js"] {
        fs::remove_file(to.join(name)).with_context(|| format!("the book has no '{name}' to remove"))?;
    }
    let chapters = copy_chapters(&book, sources, to)?;
    fs::write(to.join("llms.txt"), list_chapters(&book, &chapters)?)?;
    for page in files_below(to)?.iter().filter(|path| path.extension().is_some_and(|it| it == "html")) {
        move_scripts_out(page, to)?;
        mend_links(page, to, sources)?;
        if !page.ends_with(LIST_OF_CHAPTERS) {
            let text = fs::read_to_string(page)?;
            fs::write(page, mend_template(&text).with_context(|| format!("'{}' is not as mdBook wrote it before", page.display()))?)?;
        }
    }
    Ok(())
}

/// Makes the switch of the sidebar a button, which a keyboard reaches and a screen reader announces, and adds what `LANDMARKS` says.
/// `accessibility.js` has what the button does.
fn mend_template(page: &str) -> Result<String> {
    const LABEL: &str = "<label id=\"mdbook-sidebar-toggle\" class=\"icon-button\" for=\"mdbook-sidebar-toggle-anchor\"";
    const BUTTON: &str = "<button id=\"mdbook-sidebar-toggle\" class=\"icon-button\" type=\"button\"";
    let (before, rest) = page.split_once(LABEL).context("the page has no switch of its sidebar")?;
    let (label, after) = rest.split_once("</label>").context("the switch of the sidebar does not end")?;
    let mut mended = format!("{before}{BUTTON}{label}</button>{after}");
    for (found, replacement) in LANDMARKS {
        ensure!(mended.contains(found), "the page lacks '{found}'");
        mended = mended.replacen(found, replacement, 1);
    }
    Ok(mended)
}

/// Leads links to the first pages of folders to their names in the book, and links to files outside the documentation to copies of them.
fn mend_links(page: &Path, book: &Path, sources: &Path) -> Result<()> {
    const LINK: &str = " href=\"";
    let text = fs::read_to_string(page)?;
    let folder = page.strip_prefix(book)?.parent().context("a page is in a folder")?;
    let mut parts = text.split(LINK);
    let mut mended = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (link, rest) = part.split_once('"').with_context(|| format!("a link of '{}' does not end", page.display()))?;
        write!(mended, "{LINK}{}\"{rest}", mend_link(link, folder, book, sources)?)?;
    }
    fs::write(page, mended)?;
    Ok(())
}

fn mend_link(link: &str, folder: &Path, book: &Path, sources: &Path) -> Result<String> {
    let (path, fragment) = link.find('#').map_or((link, ""), |at| link.split_at(at));
    if path.is_empty() || path.contains(':') || path.starts_with('/') {
        return Ok(link.to_owned());
    }
    let mut steps: Vec<&str> = folder.iter().filter_map(|it| it.to_str()).collect();
    let mut above = 0;
    for step in path.split('/') {
        match step {
            ".." if steps.pop().is_none() => above += 1,
            ".." | "." | "" => {}
            step => steps.push(step),
        }
    }
    if above == 0 {
        let is_first = steps.last().is_some_and(|it| *it == "README.html");
        return Ok(if is_first { format!("{}index.html{fragment}", path.trim_end_matches("README.html")) } else { link.to_owned() });
    }
    // Links to Markdown lead to pages within the book alone.
    let file = steps.join("/");
    let file = file.strip_suffix(".html").map_or_else(|| file.clone(), |name| format!("{name}.md"));
    let source = sources.join("..").join(&file);
    if !source.is_file() {
        return Ok(link.to_owned());
    }
    let copy = book.join(OUTSIDE).join(&file);
    fs::create_dir_all(copy.parent().context("a file is in a folder")?)?;
    fs::copy(&source, &copy).with_context(|| format!("cannot copy '{}'", source.display()))?;
    Ok(format!("{}{OUTSIDE}/{file}", "../".repeat(folder.iter().count())))
}

/// Copies the sources of all chapters; returns their first paragraphs by path.
fn copy_chapters(book: &MDBook, sources: &Path, to: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let mut abstracts = BTreeMap::new();
    for path in chapter_paths(book) {
        let text = fs::read_to_string(sources.join(&path)).with_context(|| format!("cannot read the chapter '{}'", path.display()))?;
        let target = to.join(&path);
        fs::create_dir_all(target.parent().context("a chapter is in a folder")?)?;
        fs::write(target, &text)?;
        abstracts.insert(path, first_paragraph(&text));
    }
    Ok(abstracts)
}

fn chapter_paths(book: &MDBook) -> Vec<PathBuf> {
    let path = |item: &BookItem| if let BookItem::Chapter(chapter) = item { chapter.source_path.clone() } else { None };
    book.iter().filter_map(path).collect()
}

/// The list of chapters in the order of the book, each with its first paragraph, in the format of llmstxt.org.
fn list_chapters(book: &MDBook, abstracts: &BTreeMap<PathBuf, String>) -> Result<String> {
    let mut text = format!("# {}\n", book.config.book.title.as_deref().unwrap_or("ConvEngine"));
    if let Some(description) = &book.config.book.description {
        write!(text, "\n> {description}\n")?;
    }
    for item in book.iter() {
        match item {
            BookItem::PartTitle(title) => write!(text, "\n## {title}\n\n")?,
            BookItem::Chapter(chapter) => {
                let Some(path) = &chapter.source_path else { continue };
                let about = abstracts.get(path).map_or("", String::as_str);
                writeln!(text, "* [{}](/{FOLDER}/{}): {about}", chapter.name, path.display())?;
            }
            _ => {}
        }
    }
    Ok(text)
}

/// The first paragraph that is text, on one line and without the targets of its links, which are relative to the page.
fn first_paragraph(markdown: &str) -> String {
    let mut paragraphs = markdown.split("\n\n").map(str::trim);
    let is_text = |paragraph: &&str| paragraph.starts_with(|first: char| first.is_alphanumeric() || first == '`' || first == '[');
    let paragraph = paragraphs.find(is_text).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let mut parts = paragraph.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push(']');
        text.push_str(part.split_once(')').map_or(part, |it| it.1));
    }
    text.replace(['[', ']'], "")
}

/// Moves the scripts within a page into files, because the policy of the server's pages runs no others.
fn move_scripts_out(page: &Path, book: &Path) -> Result<()> {
    const OPEN: &str = "<script>";
    const CLOSE: &str = "</script>";
    let text = fs::read_to_string(page)?;
    let depth = page.strip_prefix(book)?.components().count() - 1;
    let mut rest = text.as_str();
    let mut moved = String::new();
    while let Some((before, after)) = rest.split_once(OPEN) {
        let (script, after) = after.split_once(CLOSE).with_context(|| format!("a script of '{}' does not end", page.display()))?;
        let name = format!("script-{}.js", sha256(script.as_bytes()).split_at(16).0);
        fs::write(book.join(&name), script)?;
        write!(moved, "{before}<script src=\"{}{name}\">{CLOSE}", "../".repeat(depth))?;
        rest = after;
    }
    moved.push_str(rest);
    fs::write(page, moved)?;
    Ok(())
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read '{}'", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() { files.extend(files_below(&path)?) } else { files.push(path) }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{LANDMARKS, first_paragraph, mend_link, mend_template, move_scripts_out};

    #[test]
    fn the_first_paragraph_is_the_first_text() {
        assert_eq!(first_paragraph("# Title\n\n![picture](a.svg)\n\nOne line\nand another.\n\nMore."), "One line and another.");
        assert_eq!(first_paragraph("See [the page](a/b.md#c) and [two](d.md)."), "See the page and two.");
        assert_eq!(first_paragraph("# Title\n\n| a | b |\n|---|---|\n"), "");
    }

    #[test]
    fn links_lead_to_pages_of_the_book_or_to_copies() {
        let project = tempfile::tempdir().unwrap();
        let (book, sources) = (project.path().join("book"), project.path().join("docs"));
        fs::create_dir_all(&sources).unwrap();
        fs::write(project.path().join("CHANGES.md"), "# Changes").unwrap();
        let mend = |link: &str| mend_link(link, "guide".as_ref(), &book, &sources).unwrap();
        for (link, expected) in [
            ("turns.html", "turns.html"),
            ("#part", "#part"),
            ("https://example.com/README.html", "https://example.com/README.html"),
            ("README.html", "index.html"),
            ("../start/README.html#the-program", "../start/index.html#the-program"),
            ("../../CHANGES.html#1", "../files/CHANGES.md"),
            ("../../absent.html", "../../absent.html"),
        ] {
            assert_eq!(mend(link), expected, "{link}");
        }
        assert_eq!(fs::read_to_string(book.join("files/CHANGES.md")).unwrap(), "# Changes");
    }

    #[test]
    fn the_switch_of_the_sidebar_becomes_a_button() {
        let rest: String = LANDMARKS.iter().map(|it| it.0).collect();
        let switch = "<label id=\"mdbook-sidebar-toggle\" class=\"icon-button\" for=\"mdbook-sidebar-toggle-anchor\" title=\"a\">b</label>";
        let mended = mend_template(&format!("{switch}{rest}<label>c</label>")).unwrap();
        let button = "<button id=\"mdbook-sidebar-toggle\" class=\"icon-button\" type=\"button\" title=\"a\">b</button>";
        assert!(mended.starts_with(button) && mended.ends_with("<label>c</label>"), "{mended}");
        assert!(LANDMARKS.iter().all(|it| mended.contains(it.1)), "{mended}");
        assert!(mend_template(&rest).is_err() && mend_template(switch).is_err());
    }

    #[test]
    fn scripts_are_moved_into_files() {
        let book = std::env::temp_dir().join(format!("convengine-book-{}", std::process::id()));
        let page = book.join("guide/page.html");
        fs::create_dir_all(page.parent().unwrap()).unwrap();
        fs::write(&page, "<p>a</p><script>let a = 1;</script><script src=\"b.js\"></script><script>let a = 1;</script>").unwrap();
        let moved = move_scripts_out(&page, &book);
        let text = fs::read_to_string(&page);
        let scripts: Vec<_> = fs::read_dir(&book).unwrap().map(|it| it.unwrap().path()).filter(|it| it.is_file()).collect();
        let script = fs::read_to_string(&scripts[0]);
        fs::remove_dir_all(&book).unwrap();
        moved.unwrap();
        assert_eq!((scripts.len(), script.unwrap()), (1, "let a = 1;".to_owned()));
        let name = scripts[0].file_name().unwrap().to_string_lossy().into_owned();
        let external = format!("<script src=\"../{name}\"></script>");
        assert_eq!(text.unwrap(), format!("<p>a</p>{external}<script src=\"b.js\"></script>{external}"));
    }
}
