"""The stations of the pretend project, as TOML, and the card listings that come from them."""

from session_builder import Dice

STATIONS = (
    ("delta-01", "Illa de Buda", 40.70, 0.85, ("S4A09133", "S4A09140"), "lte", 310),
    ("delta-02", "Punta del Fangar", 40.78, 0.76, ("SMM08790", "24F319055FDF2F8B"), "lte", 220),
    ("delta-03", "Canal Vell", 40.73, 0.83, ("SMM08812", "SMM08813", "SMM08815"), "radio", 38),
    ("delta-04", "Riet Vell", 40.66, 0.76, ("SW0071", "SW0074"), "dsl", 640),
    ("marjal-01", "Pego", 38.87, -0.06, ("S4A09127", "BAR004411"), "dsl", 900),
    ("marjal-02", "Els Moros", 39.57, -0.27, ("24F319055FDF3011", "CHO55812"), "lte", 450),
    ("seewinkel-01", "Lange Lacke", 47.76, 16.88, ("SMM08821", "SMM08822"), "dsl", 1_100),
    ("seewinkel-02", "Zicksee", 47.77, 16.79, ("BAR004402", "24F3190560AA0017"), "lte", 380),
    ("mur-01", "Gralla", 46.81, 15.56, ("S4A09152",), "fibre", 9_500),
    ("volunteers", "everywhere", 0.0, 0.0, ("H1N-07", "H1N-09", "H1N-12"), "none", 0),
)


def toml(station: tuple[str, str, float, float, tuple[str, ...], str, int]) -> str:
    """One station's file."""
    name, place, lat, lon, serials, line, rate = station
    dice = Dice(f"station/{name}")
    recorders = "\n".join(
        f'[[recorders]]\nserial = "{serial}"\nsince = 20{dice.between(21, 25)}-0{dice.between(2, 9)}-{dice.between(10, 28)}\n'
        f'height_m = {dice.between(1, 4)}.{dice.between(0, 9)}\nfaces = "{dice.pick(("N", "NE", "E", "SW", "W", "NW"))}"\n'
        for serial in serials
    )
    minutes = ", ".join(str(m) for m in sorted({dice.between(0, 11) * 5 for _ in range(3)}))
    return f'''# {place}
name = "{name}"
schedule = {{ from = "sunrise-60", to = "sunrise+180", minutes = [{minutes}] }}
species = ["{dice.pick(("CORFRU", "IXOMIN", "BOTSTE"))}", "{dice.pick(("ACRPAL", "RALAQU", "PORPOR"))}", "{dice.pick(("LOCLUS", "ALAARV"))}"]

[place]
lat = {lat:.2f}
lon = {lon:.2f}

[line]
kind = "{line}"
kilobits = {rate}
parallel = {max(1, min(4, rate // 200))}
hours = "22:00-05:30"

{recorders}'''


def files() -> dict[str, str]:
    """stations/*.toml."""
    return {f"stations/{s[0]}.toml": toml(s) for s in STATIONS}


def names(dice: Dice, serial: str, count: int, month: str = "202510") -> list[str]:
    """File names as the recorders give them."""
    day, out = dice.between(1, 4), []
    for _ in range(count):
        day += dice.between(0, 3) == 0
        out.append(f"{serial}_{month}{min(day, 28):02d}_{dice.between(3, 9):02d}{dice.between(0, 11) * 5:02d}00.wav")
    return sorted(set(out))
