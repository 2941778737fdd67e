//! The one palette of all figures, told apart with any kind of colour vision (after Okabe and Ito).

/// An RGB colour.
pub(crate) type Colour = (u8, u8, u8);

pub(crate) const BLUE: Colour = (0x00, 0x72, 0xB2);
pub(crate) const ORANGE: Colour = (0xD5, 0x5E, 0x00);
pub(crate) const GREEN: Colour = (0x00, 0x9E, 0x73);
pub(crate) const PURPLE: Colour = (0xAA, 0x4A, 0x88);
/// Text and marks.
pub(crate) const INK: Colour = (0x1F, 0x29, 0x33);
/// Axis labels and notes.
pub(crate) const MUTED: Colour = (0x5B, 0x67, 0x77);
/// Grid lines.
pub(crate) const GRID: Colour = (0xE6, 0xEA, 0xF0);
/// Shade over the warm-up.
pub(crate) const SHADE: Colour = (0xEE, 0xF1, 0xF5);
/// The card a figure stands on, also in dark pages.
pub(crate) const PAPER: Colour = (0xFF, 0xFF, 0xFF);

/// A shade from nearly white (0) to deep blue (1), for heat maps.
pub(crate) fn heat(share: f64) -> Colour {
    const STOPS: [Colour; 5] = [
        (0xF3, 0xF7, 0xFB),
        (0xC3, 0xDB, 0xEE),
        (0x7F, 0xB4, 0xDB),
        (0x2F, 0x7F, 0xBC),
        (0x0B, 0x3F, 0x77),
    ];
    let at = share.clamp(0.0, 1.0) * 4.0;
    let low = (at as usize).min(3);
    let part = at - low as f64;
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8;
    let (a, b) = (STOPS[low], STOPS[low + 1]);
    (mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// Text colour that can be read on a heat map's cell.
pub(crate) fn on_heat(share: f64) -> Colour {
    if share > 0.55 { PAPER } else { INK }
}

/// The colour of one of many lines; after the eighth they come again.
pub(crate) fn line_colour(line: usize) -> Colour {
    const LINES: [Colour; 8] = [
        BLUE,
        ORANGE,
        GREEN,
        PURPLE,
        (0xE6, 0x9F, 0x00),
        (0x56, 0xB4, 0xE9),
        (0x33, 0x33, 0x33),
        (0x8B, 0x5A, 0x2B),
    ];
    LINES[line % LINES.len()]
}
