//! Font programs with as little as a reader needs: a triangle for each character, and perhaps the table of the characters.

/// Returns a TrueType font whose glyphs, from 1 on, are those of `characters`; `has_names` tells whether it says so.
pub fn font(characters: &[char], has_names: bool) -> Vec<u8> {
    let glyphs = characters.len() + 1;
    let mut tables: Vec<(&[u8; 4], Vec<u8>)> = vec![
        (b"cmap", cmap(if has_names { characters } else { &[] })),
        (b"glyf", triangle().repeat(glyphs)),
        (b"head", numbers(&[1, 0, 1, 0, 0, 0, 0x5f0f, 0x3cf5, 0, 1000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 500, 500, 0, 8, 2, 0, 0])),
        (b"hhea", numbers(&[1, 0, 800, 0, 0, 1000, 0, 0, 1000, 0, 0, 0, 0, 0, 0, 0, 0, small(glyphs)])),
        (b"hmtx", numbers(&[1000, 0]).repeat(glyphs)),
        (b"loca", (0..=glyphs).flat_map(|index| small(index * triangle().len() / 2).to_be_bytes()).collect()),
        (b"maxp", numbers(&[1, 0, small(glyphs), 3, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])),
    ];
    let mut directory = numbers(&[1, 0, small(tables.len()), 64, 2, 48]);
    let mut body = Vec::new();
    for (tag, table) in &mut tables {
        let (start, length) = (12 + 16 * 7 + body.len(), table.len());
        directory.extend(tag.iter());
        directory.extend([0, u32::try_from(start).unwrap(), u32::try_from(length).unwrap()].iter().flat_map(|it| it.to_be_bytes()));
        table.resize(length.next_multiple_of(4), 0);
        body.append(table);
    }
    [directory, body].concat()
}

/// A table of format 12, for all of Unicode.
fn cmap(characters: &[char]) -> Vec<u8> {
    let mut pairs: Vec<(u32, u32)> = characters.iter().zip(1..).map(|(character, glyph)| (u32::from(*character), glyph)).collect();
    pairs.sort_unstable();
    let groups = pairs.iter().flat_map(|(character, glyph)| [*character, *character, *glyph]);
    let length = u32::try_from(16 + 12 * pairs.len()).unwrap();
    let words = [length, 0, u32::try_from(pairs.len()).unwrap()].into_iter().chain(groups);
    [numbers(&[0, 1, 3, 10, 0, 12, 12, 0]), words.flat_map(u32::to_be_bytes).collect()].concat()
}

fn triangle() -> Vec<u8> {
    let outline = numbers(&[1, 0, 0, 500, 500, 2, 0]);
    let points = [0, 500, u16::MAX - 499, 0, 0, 500];
    [outline, vec![1; 3], numbers(&points), vec![0; 3]].concat()
}

fn numbers(numbers: &[u16]) -> Vec<u8> {
    numbers.iter().flat_map(|it| it.to_be_bytes()).collect()
}

fn small(number: usize) -> u16 {
    u16::try_from(number).unwrap()
}
