"""The laptop's side of a team box: what sends sessions there and brings their memory back."""
