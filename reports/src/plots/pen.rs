//! Drawing in page pixels: a thin layer over the SVG backend.

use plotters::element::{Drawable, PointCollection};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::PlotError;
use super::palette::{Colour, PAPER};

/// The backend knows whole pixels only, so it draws this much larger than the page shows.
const SCALE: f64 = 4.0;
/// The backend divides font sizes by this.
const FONT: f64 = 1.24;
const FAMILY: &str = "system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, sans-serif";

/// Where a text stands beside its point.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text is set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Face {
    pub(crate) size: f64,
    pub(crate) colour: Colour,
    pub(crate) anchor: Anchor,
    pub(crate) bold: bool,
    pub(crate) upwards: bool,
}

impl Face {
    /// A plain text of this size and colour that starts at its point.
    pub(crate) fn new(size: f64, colour: Colour) -> Self {
        Self { size, colour, anchor: Anchor::Start, bold: false, upwards: false }
    }

    pub(crate) fn at(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }

    pub(crate) fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub(crate) fn upwards(self) -> Self {
        Self { upwards: true, ..self }
    }
}

/// Draws on one figure.
pub(crate) struct Pen<'a> {
    area: DrawingArea<SVGBackend<'a>, plotters::coord::Shift>,
    /// Width of the figure in page pixels.
    pub(crate) width: f64,
    /// Its height.
    pub(crate) height: f64,
}

/// A figure as SVG text of this size, described by `label` to those who cannot see it.
pub(crate) fn svg(
    (width, height): (u32, u32),
    label: &str,
    draw: impl FnOnce(&Pen<'_>) -> Result<(), PlotError>,
) -> Result<String, PlotError> {
    let large = |size: u32| size * SCALE as u32;
    let mut text = String::new();
    {
        let backend = SVGBackend::with_string(&mut text, (large(width), large(height)));
        let (width, height) = (f64::from(width), f64::from(height));
        let pen = Pen { area: backend.into_drawing_area(), width, height };
        pen.rect((0.0, 0.0), (width, height), PAPER)?;
        draw(&pen)?;
        pen.area.present().map_err(PlotError::new)?;
    }
    // Shown at the page's size, the fine coordinates become fractions of a pixel.
    let drawn = format!("width=\"{}\" height=\"{}\"", large(width), large(height));
    let shown = format!(
        "width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{}\"",
        crate::junit::escape(label)
    );
    Ok(text.replacen(&drawn, &shown, 1))
}

impl Pen<'_> {
    fn point(&self, (x, y): (f64, f64)) -> (i32, i32) {
        // Casts saturate; a coordinate that is no number lands at the edge instead of failing.
        ((x * SCALE).round() as i32, (y * SCALE).round() as i32)
    }

    fn stroke(&self, colour: Colour, width: f64) -> ShapeStyle {
        let width = (width * SCALE).round() as u32;
        ShapeStyle { color: rgb(colour).to_rgba(), filled: false, stroke_width: width }
    }

    fn put<'b, E>(&self, element: &'b E) -> Result<(), PlotError>
    where
        E: 'b,
        &'b E: PointCollection<'b, (i32, i32)>,
        for<'c> E: Drawable<SVGBackend<'c>>,
    {
        self.area.draw(element).map_err(PlotError::new)
    }

    /// A line through points.
    pub(crate) fn line(
        &self,
        points: &[(f64, f64)],
        colour: Colour,
        width: f64,
    ) -> Result<(), PlotError> {
        if points.len() < 2 {
            return Ok(());
        }
        let points: Vec<_> = points.iter().map(|p| self.point(*p)).collect();
        self.put(&PathElement::new(points, self.stroke(colour, width)))
    }

    /// A dashed straight line.
    pub(crate) fn dashed(
        &self,
        from: (f64, f64),
        to: (f64, f64),
        colour: Colour,
    ) -> Result<(), PlotError> {
        const DASH: f64 = 5.0;
        let length = libm::hypot(to.0 - from.0, to.1 - from.1);
        let at = |along: f64| {
            let share = (along / length).min(1.0);
            (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share)
        };
        let dashes = if length.is_finite() { (length / (2.0 * DASH)).ceil() as u32 } else { 0 };
        for dash in 0..dashes {
            let start = f64::from(dash) * 2.0 * DASH;
            self.line(&[at(start), at(start + DASH)], colour, 1.25)?;
        }
        Ok(())
    }

    /// A filled rectangle between two corners.
    pub(crate) fn rect(
        &self,
        from: (f64, f64),
        to: (f64, f64),
        colour: Colour,
    ) -> Result<(), PlotError> {
        let corners = [self.point(from), self.point(to)];
        self.put(&Rectangle::new(corners, rgb(colour).filled()))
    }

    /// A filled area, with some of what lies below shining through.
    pub(crate) fn area(
        &self,
        outline: &[(f64, f64)],
        colour: Colour,
        opacity: f64,
    ) -> Result<(), PlotError> {
        let points: Vec<_> = outline.iter().map(|p| self.point(*p)).collect();
        self.put(&Polygon::new(points, rgb(colour).mix(opacity).filled()))
    }

    /// A filled circle.
    pub(crate) fn dot(&self, at: (f64, f64), radius: f64, colour: Colour) -> Result<(), PlotError> {
        let radius = (radius * SCALE).round() as i32;
        self.put(&Circle::new(self.point(at), radius, rgb(colour).filled()))
    }

    /// A text whose middle line runs through its point.
    pub(crate) fn text(&self, at: (f64, f64), text: &str, face: Face) -> Result<(), PlotError> {
        let horizontal = match face.anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let weight = if face.bold { FontStyle::Bold } else { FontStyle::Normal };
        let mut font = FontDesc::new(FontFamily::Name(FAMILY), face.size * SCALE * FONT, weight);
        if face.upwards {
            font = font.transform(FontTransform::Rotate270);
        }
        let colour = rgb(face.colour);
        let style = TextStyle::from(font).color(&colour).pos(Pos::new(horizontal, VPos::Center));
        self.put(&Text::new(text.to_string(), self.point(at), style))
    }
}

fn rgb((red, green, blue): Colour) -> RGBColor {
    RGBColor(red, green, blue)
}
