//! Finds calls: energy in the band of a species against the noise around it, then a small classifier.

/// A species as the detector sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Profile {
    pub code: &'static str,
    pub low_hz: f32,
    pub high_hz: f32,
    pub min_ms: u32,
    pub max_ms: u32,
    pub weights: [f32; 6],
}

#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Score from which a window counts as a call.
    pub threshold: f32,
    /// Windows closer than this are one call.
    pub merge_ms: u32,
    pub hop: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { threshold: 0.5, merge_ms: 250, hop: 512 }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub start_ms: u32,
    pub end_ms: u32,
    pub score: f32,
}

/// The score of one window, 0 to 1.
pub fn score(profile: &Profile, features: &[f32; 6]) -> f32 {
    let sum: f32 = profile.weights.iter().zip(features).map(|(w, x)| w * x).sum();
    1.0 / (1.0 + (-sum).exp())
}

/// Windows at or above the threshold, merged and filtered by length.
pub fn calls(profile: &Profile, scores: &[f32], ms_per_hop: f32, settings: &Settings) -> Vec<Call> {
    let mut found: Vec<Call> = Vec::new();
    for (n, &score) in scores.iter().enumerate().filter(|(_, s)| **s >= settings.threshold) {
        let start_ms = (n as f32 * ms_per_hop) as u32;
        let end_ms = ((n + 1) as f32 * ms_per_hop) as u32;
        match found.last_mut() {
            Some(last) if start_ms.saturating_sub(last.end_ms) <= settings.merge_ms => {
                last.end_ms = end_ms;
                last.score = last.score.max(score);
            }
            _ => found.push(Call { start_ms, end_ms, score }),
        }
    }
    found.retain(|call| (profile.min_ms..=profile.max_ms).contains(&(call.end_ms - call.start_ms)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOK: Profile =
        Profile { code: "CORFRU", low_hz: 600.0, high_hz: 2_400.0, min_ms: 20, max_ms: 900, weights: [1.0; 6] };

    #[test]
    fn near_windows_are_one_call() {
        let settings = Settings { threshold: 0.5, merge_ms: 30, hop: 512 };
        let found = calls(&ROOK, &[0.1, 0.9, 0.2, 0.8, 0.1], 20.0, &settings);
        assert_eq!(found, [Call { start_ms: 20, end_ms: 80, score: 0.9 }]);
    }

    #[test]
    fn too_long_is_no_call() {
        let found = calls(&ROOK, &[0.9; 80], 20.0, &Settings::default());
        assert!(found.is_empty());
    }

    #[test]
    fn score_is_between_zero_and_one() {
        assert!(score(&ROOK, &[9.0; 6]) <= 1.0);
        assert!(score(&ROOK, &[-9.0; 6]) >= 0.0);
    }
}
