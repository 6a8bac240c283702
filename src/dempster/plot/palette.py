"""Colors of lines, texts and clusters in plots, reports and the studio."""

INK = "#222222"
GREY = "#8A8A8A"

# The first six colors are the colors of Okabe and Ito (2008) that contrast with white and black.
# Each further color is the saturated, medium-light color with the largest distance from black,
# white and the previous colors. The distance is the smallest of the Oklab distances for normal,
# protanope and deuteranope vision.
PALETTE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#692D2D",
    "#3C2D96",
    "#87E1A5",
    "#A52D69",
    "#964B00",
    "#5A87F0",
    "#2DE1FF",
    "#A5B487",
    "#D2D24B",
    "#780F69",
    "#B44B4B",
    "#00D2C3",
    "#4B4BB4",
    "#A55A87",
)
