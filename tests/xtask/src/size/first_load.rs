//! The download sizes of the page: the first load, and parts that are loaded on demand.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Figure, PAGE, compress, figure, total_brotli, with_ending};
use crate::page;
use crate::project::Project;

/// Returns the size of the first load, and of the largest file of each kind that is loaded on demand.
pub fn measure(project: &Project, files: &[PathBuf]) -> Result<Vec<Figure>> {
    let index = page::folder(project).join("index.html");
    let packs = pack_names(project)?;
    let chunk = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "js");
    let largest = |filter: &dyn Fn(&str) -> bool| largest(files.iter().filter(chunk).filter(|file| filter(&name_without_hash(file))));
    let figure = |key, what, bytes| figure(key, what, PAGE, bytes);
    Ok(vec![
        figure("page_first_load_brotli_bytes", "page, first load, brotli", measure_first_load(&index, files)?),
        figure("page_worker_brotli_bytes", "worker of the engine, brotli", largest(&|it| it == "worker")?),
        figure("page_editor_brotli_bytes", "editor, brotli", largest(&|it| it.contains("editor"))?),
        figure("page_sample_brotli_bytes", "largest sample, brotli", largest(&|name| packs.iter().any(|pack| pack == name))?),
    ])
}

/// Returns the size of the document with all scripts and styles that it names, which include the static imports of its entry.
fn measure_first_load(index: &Path, files: &[PathBuf]) -> Result<Option<usize>> {
    let Ok(document) = fs::read_to_string(index) else { return Ok(None) };
    let is_named = |file: &&PathBuf| document.contains(&format!("/{}\"", file.file_name().unwrap_or_default().to_string_lossy()));
    let loaded = ["js", "css"].into_iter().flat_map(|it| with_ending(files, it)).filter(is_named);
    total_brotli(loaded.chain([&index.to_path_buf()]))
}

fn largest<'f>(files: impl Iterator<Item = &'f PathBuf>) -> Result<Option<usize>> {
    let files: Vec<PathBuf> = files.cloned().collect();
    Ok(compress(&files)?.iter().map(|it| it.brotli).max())
}

/// Returns a file's name without its content hash.
fn name_without_hash(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    // The hash has eight characters and may contain a hyphen.
    let end = name.len().checked_sub(9).filter(|at| name.as_bytes().get(*at) == Some(&b'-'));
    end.and_then(|at| name.get(..at)).unwrap_or(&name).to_owned()
}

fn pack_names(project: &Project) -> Result<Vec<String>> {
    let files = super::files_below(&project.root.join("tests/packs"))?;
    Ok(files.iter().filter_map(|file| Some(file.file_stem()?.to_string_lossy().into_owned())).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{compress, measure_first_load, name_without_hash};

    #[test]
    fn the_first_load_is_what_the_document_names() {
        let folder = std::env::temp_dir().join(format!("convengine-first-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let document = r#"<script src="./assets/index-1.js"></script><link href="./assets/index-1.css">"#;
        let files = ["index-1.js", "index-1.css", "late-1.js"].map(|it| folder.join(it));
        files.iter().for_each(|file| fs::write(file, "a".repeat(500)).unwrap());
        let index = folder.join("index.html");
        fs::write(&index, document).unwrap();
        let found = measure_first_load(&index, &files);
        let expected = compress(&[index, folder.join("index-1.js"), folder.join("index-1.css")]).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found.unwrap(), Some(expected.iter().map(|it| it.brotli).sum()));
    }

    #[test]
    fn hashes_are_not_part_of_a_name() {
        let names = ["help_desk-BJhQj3pE.js", "editor-_46WWr7_.js", "Samples-Mb-dXA3_.js", "sw.js"];
        assert_eq!(names.map(|name| name_without_hash(Path::new(name))), ["help_desk", "editor", "Samples", "sw"]);
    }
}
