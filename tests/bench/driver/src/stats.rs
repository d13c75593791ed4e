//! Figures of repeated runs, and the line of JSON that carries them out.

use crate::args::Args;
use serde_json::{Value, json};

/// One figure, once for each run.
#[derive(Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The value that `percent` of 100 of the samples do not exceed, interpolated; NaN if there is none.
    pub fn percentile(&self, percent: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else {
            return f64::NAN;
        };
        let rank = percent / 100.0 * last as f64;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 <= rank <= last
        let low = rank as usize;
        let high = (low + 1).min(last);
        sorted[low] + (sorted[high] - sorted[low]) * (rank - low as f64)
    }

    pub fn median(&self) -> f64 {
        self.percentile(50.0)
    }

    /// Median, lowest and highest, rounded to three decimals.
    pub fn spread(&self) -> Value {
        json!({"median": round(self.median()), "min": round(self.percentile(0.0)),
            "max": round(self.percentile(100.0)), "n": self.0.len()})
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

/// Three decimals; null for what was not measured.
pub fn round(value: f64) -> Value {
    if value.is_finite() { json!((value * 1000.0).round() / 1000.0) } else { Value::Null }
}

/// Prints one result: which peer, which test, how loaded the machine was, and the figures.
pub fn emit(args: &Args, test: &str, mut figures: Value) {
    figures["peer"] = json!(args.text("name", "unnamed"));
    figures["test"] = json!(test);
    figures["pinned"] = json!(args.has("pin"));
    figures["load"] = json!(load_average());
    println!("{figures}");
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_interpolate_between_samples() {
        let samples: Samples = [4.0, 1.0, 3.0, 2.0].into_iter().collect();
        let found = [0.0, 50.0, 100.0].map(|p| round(samples.percentile(p)));
        assert_eq!(found, [json!(1.0), json!(2.5), json!(4.0)]);
    }

    #[test]
    fn nothing_measured_is_null() {
        assert_eq!(Samples::default().spread()["median"], Value::Null);
    }
}
