//! The keys as flags of the command line.

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

use crate::settings::Settings;
use crate::settings::keys::KEYS;

/// What the flags say, by key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags(Vec<(usize, String)>);

impl Flags {
    pub(super) fn given(&self) -> impl Iterator<Item = (usize, &str)> + '_ {
        self.0.iter().map(|(at, text)| (*at, text.as_str()))
    }

    #[cfg(test)]
    pub(super) fn of(flags: &[(&str, &str)]) -> Self {
        let at = |name| KEYS.iter().position(|key| key.name == name).unwrap();
        Self(flags.iter().map(|&(name, text)| (at(name), text.to_owned())).collect())
    }
}

impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        let defaults = Settings::default();
        KEYS.iter().fold(command, |command, key| {
            let kind = (key.kind)();
            let default = (key.shown)(&defaults);
            let help = format!("{} [env: {}] [default: {default}]", key.help, key.variable());
            let flag = Arg::new(key.name).long(key.flag()).value_name(kind).help(help);
            let flag = flag.help_heading(key.heading);
            command.arg(match kind {
                // `--admin-anywhere` alone says yes.
                "true|false" => {
                    flag.num_args(0..=1).require_equals(true).default_missing_value("true")
                }
                _ => flag,
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = KEYS.iter().enumerate();
        let given = given.filter_map(|(at, key)| Some((at, matches.get_one::<String>(key.name)?)));
        Ok(Self(given.map(|(at, text)| (at, text.clone())).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
