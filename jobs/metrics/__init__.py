"""What programs report while they run: samples of metrics, bounded whatever a program prints, and how far it is."""
